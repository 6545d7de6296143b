// purpose: How many nodes of each class there are, of those that the ontology names, from the count store.
// columns: name, n
CALL {
  MATCH (x:Disease) WITH count(x) AS n RETURN 'Disease' AS name, n
  UNION ALL
  MATCH (x:MeshDescriptor) WITH count(x) AS n RETURN 'MeshDescriptor' AS name, n
  UNION ALL
  MATCH (x:MeshSupplement) WITH count(x) AS n RETURN 'MeshSupplement' AS name, n
  UNION ALL
  MATCH (x:Phenotype) WITH count(x) AS n RETURN 'Phenotype' AS name, n
  UNION ALL
  MATCH (x:Symptom) WITH count(x) AS n RETURN 'Symptom' AS name, n
  UNION ALL
  MATCH (x:Test) WITH count(x) AS n RETURN 'Test' AS name, n
  UNION ALL
  MATCH (x:Drug) WITH count(x) AS n RETURN 'Drug' AS name, n
  UNION ALL
  MATCH (x:Cure) WITH count(x) AS n RETURN 'Cure' AS name, n
  UNION ALL
  MATCH (x:Gene) WITH count(x) AS n RETURN 'Gene' AS name, n
  UNION ALL
  MATCH (x:Region) WITH count(x) AS n RETURN 'Region' AS name, n
  UNION ALL
  MATCH (x:Anatomy) WITH count(x) AS n RETURN 'Anatomy' AS name, n
  UNION ALL
  MATCH (x:BiologicalProcess) WITH count(x) AS n RETURN 'BiologicalProcess' AS name, n
  UNION ALL
  MATCH (x:MolecularFunction) WITH count(x) AS n RETURN 'MolecularFunction' AS name, n
  UNION ALL
  MATCH (x:CellularComponent) WITH count(x) AS n RETURN 'CellularComponent' AS name, n
  UNION ALL
  MATCH (x:Pathway) WITH count(x) AS n RETURN 'Pathway' AS name, n
  UNION ALL
  MATCH (x:Exposure) WITH count(x) AS n RETURN 'Exposure' AS name, n
  UNION ALL
  MATCH (x:MeshQualifier) WITH count(x) AS n RETURN 'MeshQualifier' AS name, n
  UNION ALL
  MATCH (x:Publication) WITH count(x) AS n RETURN 'Publication' AS name, n
  UNION ALL
  MATCH (x:Document) WITH count(x) AS n RETURN 'Document' AS name, n
  UNION ALL
  MATCH (x:PatientCase) WITH count(x) AS n RETURN 'PatientCase' AS name, n
  UNION ALL
  MATCH (x:Diagnosis) WITH count(x) AS n RETURN 'Diagnosis' AS name, n
  UNION ALL
  MATCH (x:Source) WITH count(x) AS n RETURN 'Source' AS name, n
  UNION ALL
  MATCH (x:Build) WITH count(x) AS n RETURN 'Build' AS name, n
}
WITH name, n WHERE n > 0
RETURN name, n
ORDER BY name
