// purpose: Remove all edges, a part at a time: nodes with their edges would not fit in memory where many edges meet.
MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF 10000 ROWS
