// purpose: Make vectors of names quick to find by their direction.
// params: size: integer
CREATE VECTOR INDEX kgdx_vectors IF NOT EXISTS FOR (v:KgdxVector) ON v.embedding
OPTIONS {indexConfig: {`vector.dimensions`: $size, `vector.similarity_function`: 'cosine'}}
