select epoch, start, names, from_names, to_names, types, from_concepts, to_concepts
from kg.say(
    %(ontology)s::bigint, %(source)s::bigint, %(forms)s::text[], %(labels)s::text[],
    %(mentioned)s::text[], %(called)s::text[], %(kinds)s::text[], %(descriptions)s::text[], %(terms)s::text[], %(term_forms)s::text[],
    %(ranks)s::bytea[], %(placed)s::text[], %(starts)s::int[], %(finishes)s::int[], %(quotes)s::text[],
    %(froms)s::text[], %(tos)s::text[], %(types)s::text[], %(tiers)s::text[], %(directions)s::text[], %(confidences)s::real[],
    %(new_types)s::text[])
