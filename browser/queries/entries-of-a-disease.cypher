// Entries of other vocabularies for a disease, and how they were joined
WITH 'Marfan syndrome' AS name
MATCH path = (d:Disease)-[:SAME_AS|BROAD_MATCH|NARROW_MATCH|CLOSE_MATCH|MAPPED_TO*1..2]-(other) WHERE d.name = name AND (other:Disease OR other:MeshDescriptor)
RETURN path LIMIT 40
