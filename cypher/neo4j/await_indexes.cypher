// purpose: Wait until every index is filled.
CALL db.awaitIndexes(600)
