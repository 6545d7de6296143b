"""Words that mean the same in the name of a finding although no rule of word formation says so.

Anatomical adjectives and their nouns follow the Terminologia Anatomica's Latin and Greek roots; the rest are the
general nouns with which clinical English says "something is wrong with", numerals, and irregular plurals.
"""

from __future__ import annotations

_GROUPS = """
abnormal abnormality abnormalities abnormally anomaly anomalies anomalous disturbance disturbances aberration aberrant
abnormal aberrations defect defects defective
malformation malformations malformed
deformity deformities deformed deformation deformations
change changes
finding findings
feature features
manifestation manifestations
characteristic characteristics
involvement
symptom symptoms
absent absence missing lack lacking lacks
kidney kidneys renal
liver hepatic
heart cardiac hearts
lung lungs pulmonary
eye eyes ocular ophthalmic ophthalmologic ophthalmological
ear ears otic aural
pinna pinnae auricle auricles auricular
mouth oral
nose nasal noses
tooth teeth dental
skin cutaneous dermal
brain cerebral encephalic
skull cranial cranium
face facial faces
finger fingers digit digits
foot feet pedal
hand hands manual
bone bones osseous bony
muscle muscles muscular
rib ribs costal
stomach gastric
bowel intestine intestines intestinal bowels gut enteric
spleen splenic
bladder vesical
vertebra vertebral vertebrae
spine spinal spines
neck cervical
joint joints articular
nail nails ungual
tongue lingual glossal
lip lips labial
gum gums gingiva gingival gingivae
cheek cheeks malar buccal
chin mental_chin
jaw jaws
mandible mandibular
maxilla maxillary
palate palatal palatine
eyelid eyelids palpebral lid lids
eyebrow eyebrows
eyelash eyelashes lashes
retina retinal
cornea corneal
lens lenticular lenses
iris iridial irides
pupil pupils pupillary
optic optical
testis testes testicle testicles testicular
ovary ovaries ovarian
uterus uterine
vagina vaginal
penis penile
scrotum scrotal
breast breasts mammary
nipple nipples
umbilicus umbilical
thorax thoracic chest
abdomen abdominal belly
pelvis pelvic
hip hips
knee knees
elbow elbows cubital
wrist wrists
ankle ankles
shoulder shoulders
thumb thumbs
toe toes
hallux halluces
palm palms palmar
sole soles plantar
vessel vessels vascular
vein veins venous
artery arteries arterial
blood hematic
nerve nerves neural
cerebellum cerebellar
thyroid thyroidal
adrenal suprarenal
pancreas pancreatic
esophagus esophageal
trachea tracheal
larynx laryngeal
pharynx pharyngeal throat
colon colonic
rectum rectal
anus anal
urethra urethral
ureter ureteral ureteric
urine urinary
prostate prostatic
phalanx phalanges phalangeal phalanxes
metacarpal metacarpals metacarpus
metatarsal metatarsals metatarsus
carpal carpals carpus
tarsal tarsals tarsus
clavicle clavicular clavicles
scapula scapular scapulae
sternum sternal
humerus humeral
radius radial radii
ulna ulnar ulnae
femur femoral femora
tibia tibial tibiae
fibula fibular fibulae peroneal
patella patellar patellae
limb limbs extremity extremities
head cephalic
hair hairs pilar
gland glands glandular
marrow medullary_bone
genitalia genital genitals
neoplasm neoplasms neoplastic tumor tumors tumour tumours neoplasia
cancer cancers carcinoma carcinomas
seizure seizures
fit fits
delay delayed delays retardation retarded
neuroma neurinoma neurinomas neuromas
nevus nevi naevus naevi
small little
large big enlarged enlargement
short shortened shortening shortness
long elongated elongation lengthened
wide widened broad broadened widening
narrow narrowed narrowing
thick thickened thickening
thin thinned thinning
high elevated increased raised increase elevation increasing
low decreased reduced diminished decrease reduction
recurrent recurring repeated frequent
episode episodes episodic paroxysm paroxysms paroxysmal
difficulty difficulties trouble troubles problem problems disorder disorders
impairment impairments impaired
deficiency deficient deficit deficits
dilatation dilation dilated dilatations
fusion fused
weakness weak
stiffness stiff
deafness deaf
blindness blind
obesity obese
loss lost
cyst cysts cystic
cleft clefts clefting
pit pits pitting
duplication duplicated double
prominent prominence
protruding protrusion protuberant
calcification calcified calcifications
pigmentation pigmented pigment
inflammation inflammatory inflamed
infection infections infected
bleeding bleed bleeds hemorrhage hemorrhages hemorrhagic haemorrhage haemorrhages
vomiting vomit emesis
fever fevers febrile pyrexia
1st first
2nd second
3rd third
4th fourth
5th fifth
2 ii two
3 iii three
4 iv four
6 vi six
7 vii seven
8 viii eight
mild mildly
moderate moderately
severe severely
profound profoundly
development developmental developmentally
mental mentally
early precocious
multiple numerous several many
bifid bifurcated
male males
child children childhood
infant infants infancy infantile
neonate neonatal newborn
adult adults adulthood
"""


def _classes() -> dict[str, str]:
    return {word: group.split()[0] for group in _GROUPS.strip().splitlines() for word in group.split()}


CLASSES = _classes()
"""Word (folded) → the class it shares with its synonyms."""

MODIFIERS = frozenset(
    """left right bilateral unilateral mild moderate severe marked profound slight subtle mildly moderately severely
    markedly progressive chronic acute partial complete congenital isolated typical characteristic variable
    significant prominent extensive minor major possible overlying underlying persistent transient""".split()  # noqa: SIM905
)
"""Adjectives of side, degree and course that may stand inside a name without changing which finding it names."""
