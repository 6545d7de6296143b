// purpose: Remove all nodes but what is kept aside of what users saved, a part at a time, once there is no edge.
MATCH (n) WHERE NOT n:KgdxSaved CALL (n) { DELETE n } IN TRANSACTIONS OF 10000 ROWS
