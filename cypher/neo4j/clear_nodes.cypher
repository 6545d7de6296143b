// purpose: Remove all nodes, a part at a time, once there is no edge.
MATCH (n) CALL (n) { DELETE n } IN TRANSACTIONS OF 10000 ROWS
