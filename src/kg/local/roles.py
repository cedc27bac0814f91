"""What somebody is, not who: written with a capital, and no name."""

from __future__ import annotations

ROLES = frozenset((
    "administrator", "admiral", "advisor", "agent", "ambassador", "analyst", "archbishop", "assistant", "attorney",
    "baron", "baronet", "bishop", "brigadier", "captain", "cardinal", "cd", "ceo", "cfo", "chair", "chairman", "chairperson",
    "chairwoman", "champion", "chancellor", "chief", "clerk", "coach", "colonel", "commander", "commissioner", "congressman",
    "consul", "consultant", "contractor", "controller", "coordinator", "corporal", "councillor", "count", "countess", "cto",
    "customer", "dean", "delegate", "deputy", "developer", "director", "doctor", "dr", "dr.", "duchess", "duke", "dvd", "earl",
    "editor", "emperor", "employee", "employer", "empress", "engineer", "executive", "general", "gov", "gov.", "governor",
    "head", "headmaster", "inspector", "judge", "justice", "king", "lady", "lieutenant", "lord", "lp", "major", "manager",
    "marquess", "marquis", "marshal", "mayor", "member", "midshipman", "minister", "miss", "mr", "mr.", "mrs", "mrs.", "ms",
    "ms.", "officer", "owner", "parliamentarian", "pastor", "president", "priest", "prime", "prince", "princess", "principal",
    "prof", "prof.", "professor", "prophet", "prosecutor", "queen", "rabbi", "rear", "rector", "regent", "representative",
    "researcher", "reverend", "secretary", "senator", "sergeant", "sheriff", "sir", "speaker", "specialist", "superintendent",
    "supervisor", "teacher", "treasurer", "trustee", "tsar", "czar", "vice", "viscount", "warden",
))  # fmt: skip
