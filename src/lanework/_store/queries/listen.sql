listen lanework
