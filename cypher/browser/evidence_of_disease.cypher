// purpose: What speaks for and against a disease: the findings, and the paths from them to it.
// params: disease: string, present: strings, absent: strings
// columns: path
MATCH path = (f:Phenotype) WHERE f.id IN $present + $absent
RETURN path
UNION
MATCH path = (d:Disease {id: $disease})
RETURN path
UNION
MATCH same = (:Disease {id: $disease})-[:SAME_AS*0..2]-(e:Disease)
WITH e, same ORDER BY length(same)
WITH e, head(collect(same)) AS same
MATCH (f:Phenotype) WHERE f.id IN $present + $absent
WITH same, e, f, f.id IN $present AS observed
WITH f, same,
     [way = (f)-[:IS_A*0..20]->(:Phenotype)<-[:HAS_PHENOTYPE|HAS_SYMPTOM]-(e) WHERE observed | way] +
     [way = (f)-[:IS_A*0..20]->(:Phenotype)<-[:MAPPED_TO]-(:Symptom)<-[:HAS_SYMPTOM]-(e) WHERE observed | way] +
     [way = (f)-[:IS_A*0..20]->(:Phenotype)<-[:LACKS_PHENOTYPE]-(e) WHERE observed | way] +
     [way = (f)<-[:IS_A*1..20]-(:Phenotype)<-[:HAS_PHENOTYPE|HAS_SYMPTOM]-(e) WHERE observed | way] +
     [way = (f)<-[:IS_A*1..20]-(:Phenotype)<-[:MAPPED_TO]-(:Symptom)<-[:HAS_SYMPTOM]-(e) WHERE observed | way] +
     [way = (f)<-[:IS_A*0..20]-(:Phenotype)<-[:HAS_PHENOTYPE|HAS_SYMPTOM]-(e) WHERE NOT observed | way] AS ways
UNWIND ways AS way
WITH f, same, way, size([step IN relationships(way) WHERE type(step) = 'IS_A']) AS steps
ORDER BY steps, length(way), length(same)
WITH f, collect({way: way, same: same, steps: steps}) AS found, min(steps) AS fewest
UNWIND [each IN found WHERE each.steps = fewest][0..5] AS each
UNWIND [each.way, each.same] AS path
RETURN DISTINCT path
