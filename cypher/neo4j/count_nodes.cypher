// purpose: How many nodes of one class there are (from the count store).
// columns: n
MATCH (n:<label>) RETURN count(n) AS n
