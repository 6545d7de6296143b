// purpose: All that the sources say of diseases in words, a row for each text, with what kind of text it is.
// params: diseases: strings
// columns: disease, disease_name, kind, text, source
MATCH (d:Disease) WHERE d.id IN $diseases
UNWIND [
  {kind: 'definition', texts: [d.definition]},
  {kind: 'definition', texts: d.orphanet_definition},
  {kind: 'definition', texts: d.umls_description},
  {kind: 'picture', texts: d.orphanet_clinical_description},
  {kind: 'cause', texts: [d.cause]},
  {kind: 'cause', texts: d.mayo_causes},
  {kind: 'inheritance', texts: d.inheritance},
  {kind: 'onset', texts: d.onset_ages},
  {kind: 'prevalence', texts: [d.incidence]},
  {kind: 'prevalence', texts: d.orphanet_prevalence},
  {kind: 'prevalence', texts: d.orphanet_epidemiology},
  {kind: 'risk', texts: [d.susceptible]},
  {kind: 'risk', texts: d.mayo_risk_factors},
  {kind: 'prevention', texts: [d.prevention]},
  {kind: 'prevention', texts: d.mayo_prevention},
  {kind: 'transmission', texts: [d.transmission]},
  {kind: 'prognosis', texts: [d.cure_rate]},
  {kind: 'duration', texts: [d.treatment_duration]},
  {kind: 'cost', texts: [d.treatment_cost]},
  {kind: 'treatment', texts: d.orphanet_management_and_treatment},
  {kind: 'symptoms', texts: d.mayo_symptoms},
  {kind: 'complications', texts: d.mayo_complications},
  {kind: 'department', texts: d.departments},
  {kind: 'diet', texts: d.foods_good},
  {kind: 'avoided', texts: d.foods_bad}
] AS part
UNWIND coalesce(part.texts, []) AS text
WITH d, part.kind AS kind, text WHERE text IS NOT NULL
RETURN d.id AS disease, d.name AS disease_name, kind, text, d.source AS source
ORDER BY disease, kind, source, text
