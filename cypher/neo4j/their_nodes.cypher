// purpose: How many nodes a label has, how many of them have the property that tells them apart, as what, and how often twice.
// columns: n, present, distinct, text
MATCH (n:<label>)
RETURN count(n) AS n, count(n.<key>) AS present, count(DISTINCT n.<key>) AS distinct,
       count(CASE WHEN valueType(n.<key>) STARTS WITH 'STRING' THEN 1 END) AS text
