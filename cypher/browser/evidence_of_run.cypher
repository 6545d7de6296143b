// purpose: What speaks for and against candidates of a diagnosis: paths from the patient to the disease.
// params: run: string, ranks: integers
// columns: path
MATCH path = (:PatientCase)-[:HAS_RUN]->(:Diagnosis {id: $run})-[considered:CONSIDERED]->(:Disease)
WHERE considered.rank IN $ranks
RETURN path
UNION
MATCH (c:PatientCase)-[:HAS_RUN]->(:Diagnosis {id: $run})-[considered:CONSIDERED]->(d:Disease)
WHERE considered.rank IN $ranks
MATCH same = (d)-[:SAME_AS*0..1]-(e:Disease) WHERE all(s IN relationships(same) WHERE s.relation = 'exact')
MATCH (c)-[:OBSERVED|EXCLUDED]->(f:Phenotype)
WITH d, f, same,
     [way = (c)-[:OBSERVED]->(f)-[:IS_A*0..20]->(:Phenotype)<-[:HAS_PHENOTYPE]-(e) | way] +
     [way = (c)-[:OBSERVED]->(f)<-[:IS_A*1..20]-(:Phenotype)<-[:HAS_PHENOTYPE]-(e) | way] +
     [way = (c)-[:OBSERVED]->(f)-[:IS_A*0..20]->(:Phenotype)<-[:LACKS_PHENOTYPE]-(e) | way] +
     [way = (c)-[:EXCLUDED]->(f)<-[:IS_A*0..20]-(:Phenotype)<-[:HAS_PHENOTYPE]-(e) | way] AS ways
UNWIND ways AS way
WITH d, f, same, way ORDER BY length(way), length(same)
WITH d, f, collect({way: way, same: same}) AS found, min(length(way)) AS fewest
UNWIND [each IN found WHERE length(each.way) = fewest][0..3] AS each
UNWIND [each.way, each.same] AS path
RETURN DISTINCT path
