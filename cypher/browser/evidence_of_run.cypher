// purpose: What speaks for and against candidates of a diagnosis: the findings, and the paths from them.
// params: run: string, ranks: integers
// columns: path
MATCH path = (:PatientCase)-[:HAS_RUN]->(:Diagnosis {id: $run})-[considered:CONSIDERED]->(:Disease)
WHERE considered.rank IN $ranks
RETURN path
UNION
MATCH (c:PatientCase)-[:HAS_RUN]->(:Diagnosis {id: $run})
MATCH path = (c)-[:OBSERVED|EXCLUDED]->()
RETURN path
UNION
MATCH path = (:Diagnosis {id: $run})-[:WEIGHED]->()
RETURN path
UNION
MATCH (c:PatientCase)-[:HAS_RUN]->(r:Diagnosis {id: $run})-[considered:CONSIDERED]->(d:Disease)
WHERE considered.rank IN $ranks
MATCH same = (d)-[:SAME_AS*0..2]-(e:Disease)
WITH c, r, d, e, same ORDER BY length(same)
WITH c, r, d, e, head(collect(same)) AS same
MATCH way = (c)-[:OBSERVED|EXCLUDED]->(:Symptom)<-[:HAS_SYMPTOM]-(e)
UNWIND [way, same] AS path
RETURN DISTINCT path
UNION
MATCH (r:Diagnosis {id: $run})-[considered:CONSIDERED]->(d:Disease)
WHERE considered.rank IN $ranks
MATCH path = (r)-[:ORDERED]->(:Test)<-[:RECOMMEND_TEST]-(d)
RETURN path
UNION
MATCH (c:PatientCase)-[:HAS_RUN]->(:Diagnosis {id: $run})-[considered:CONSIDERED]->(d:Disease)
WHERE considered.rank IN $ranks
MATCH same = (d)-[:SAME_AS*0..2]-(e:Disease)
WITH c, d, e, same ORDER BY length(same)
WITH c, d, e, head(collect(same)) AS same
MATCH (c)-[:OBSERVED|EXCLUDED]->(f:Phenotype)
WITH d, f, same,
     [way = (c)-[:OBSERVED]->(f)-[:IS_A*0..20]->(:Phenotype)<-[:HAS_PHENOTYPE|HAS_SYMPTOM]-(e) | way] +
     [way = (c)-[:OBSERVED]->(f)<-[:IS_A*1..20]-(:Phenotype)<-[:HAS_PHENOTYPE|HAS_SYMPTOM]-(e) | way] +
     [way = (c)-[:OBSERVED]->(f)-[:IS_A*0..20]->(:Phenotype)<-[:MAPPED_TO]-(:Symptom)<-[:HAS_SYMPTOM]-(e) | way] +
     [way = (c)-[:OBSERVED]->(f)<-[:IS_A*1..20]-(:Phenotype)<-[:MAPPED_TO]-(:Symptom)<-[:HAS_SYMPTOM]-(e) | way] +
     [way = (c)-[:OBSERVED]->(f)-[:IS_A*0..20]->(:Phenotype)<-[:LACKS_PHENOTYPE]-(e) | way] +
     [way = (c)-[:EXCLUDED]->(f)<-[:IS_A*0..20]-(:Phenotype)<-[:HAS_PHENOTYPE|HAS_SYMPTOM]-(e) | way] AS ways
UNWIND ways AS way
WITH d, f, same, way, size([step IN relationships(way) WHERE type(step) = 'IS_A']) AS steps
ORDER BY steps, length(way), length(same)
WITH d, f, collect({way: way, same: same, steps: steps}) AS found, min(steps) AS fewest
UNWIND [each IN found WHERE each.steps = fewest][0..5] AS each
UNWIND [each.way, each.same] AS path
RETURN DISTINCT path
