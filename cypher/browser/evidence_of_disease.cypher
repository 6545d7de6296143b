// purpose: What speaks for and against a disease: paths from present and excluded findings to it.
// params: disease: string, present: strings, absent: strings
// columns: path
MATCH same = (:Disease {id: $disease})-[:SAME_AS*0..1]-(e:Disease)
WHERE all(s IN relationships(same) WHERE s.relation = 'exact')
MATCH (f:Phenotype) WHERE f.id IN $present + $absent
WITH same, e, f, f.id IN $present AS observed
WITH f, same,
     [way = (f)-[:IS_A*0..20]->(:Phenotype)<-[:HAS_PHENOTYPE]-(e) WHERE observed | way] +
     [way = (f)-[:IS_A*0..20]->(:Phenotype)<-[:LACKS_PHENOTYPE]-(e) WHERE observed | way] +
     [way = (f)<-[:IS_A*1..20]-(:Phenotype)<-[:HAS_PHENOTYPE]-(e) WHERE observed | way] +
     [way = (f)<-[:IS_A*0..20]-(:Phenotype)<-[:HAS_PHENOTYPE]-(e) WHERE NOT observed | way] AS ways
UNWIND ways AS way
WITH f, same, way ORDER BY length(way), length(same)
WITH f, collect({way: way, same: same}) AS found, min(length(way)) AS fewest
UNWIND [each IN found WHERE length(each.way) = fewest][0..3] AS each
UNWIND [each.way, each.same] AS path
RETURN DISTINCT path
