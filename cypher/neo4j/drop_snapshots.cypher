// purpose: Remove the stored snapshots that a new one replaces, and those of an earlier state of the graph.
// params: id: string, layout: string, age: integer
MATCH (s:KgdxSnapshot)
WHERE s.id <> $id AND (s.layout = $layout OR s.serial - s.saves < $age)
DELETE s
