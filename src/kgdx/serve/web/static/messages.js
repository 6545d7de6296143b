// What the server says of a patient, in Chinese: its messages are English sentences, each of one of these forms.
import { chinese, say } from "./shared.js";

const STAGES = {
  "before birth": "产前", "at birth": "出生时", "in the first month": "新生儿期", "in infancy": "婴儿期", "in childhood": "儿童期",
  "in adolescence": "青少年期", "in adulthood": "成年期", "in young adulthood": "青年期", "in middle age": "中年", "in old age": "老年",
};
const MODES = {
  "autosomal dominant": "常染色体显性遗传", "autosomal recessive": "常染色体隐性遗传", "X-linked recessive": "X连锁隐性遗传",
  "X-linked dominant": "X连锁显性遗传", "X-linked": "X连锁遗传", "Y-linked": "Y连锁遗传", mitochondrial: "线粒体遗传",
};
const WHAT = { age: "年龄", sex: "性别" };
const WHOM = { women: "女性", men: "男性", pregnancy: "妊娠", newborns: "新生儿", "other ages": "其他年龄", "other sex": "另一性别" };
const BANDS = { "very common": "很常见", common: "常见", uncommon: "不常见", rare: "罕见" };
const LASTING = { minutes: "数分钟", hours: "数小时", days: "数日", weeks: "数周", months: "数月", years: "数年" };
const word = (words, table) => table[words] ?? words;

const FORMS = [
  [/^No finding is present in what is told, so no disease is ranked\.$/, () => "所述内容中没有任何表现，因此不对疾病排序。"],
  [/^Too little to go on: (.+) alone is seen in ([\d,]+) of the diseases\. No disease is ranked\.$/, (finding, n) => `依据太少：仅“${finding}”一项见于 ${n} 种疾病，因此不对疾病排序。`],
  [/^The chance that the first is right is (low|fair|good)\.$/, (level) => `排在首位者正确的可能性${{ low: "低", fair: "中等", good: "高" }[level]}。`],
  [/^since nothing says where the patient is seen$/, () => "未说明就诊场所"],
  [/^since a finding is one of emergencies$/, () => "因有急症表现"],
  [/^since the text says “(.+)”$/, (words) => `因文中有“${words}”`],
  [/^(emergency|general|referral): taken as rare: only annotations describe it$/, (where) => `${say(`setting_${where}`)}：按罕见处理，因仅有注释描述`],
  [/^(emergency|general|referral): (very common|common|uncommon|rare)\b(.*)$/, (where, band, by) => `${say(`setting_${where}`)}：${BANDS[band]}${by.replace(" (table of common conditions)", "（常见病表）")}`],
  [/^Gene panel: (.+)$/, (genes) => `基因检测：${genes.replace(/, /g, "、")}`],
  [/^a variant in (.+)$/, (genes) => `${genes.replace(/ or |, /g, "、")} 变异`],
  [/^confirmed or excluded$/, () => "确诊或排除"],
  [/^not recorded$/, () => "无记录"],
  [/^(?:auto|x-|y-|mito)[a-z -]+$/i, (mode) => MODES[Object.keys(MODES).find((each) => each.toLowerCase() === mode.toLowerCase())]],
  [/^as stated$/, () => "由使用者指定"],
  [/^since candidate genes or a mode of inheritance are given$/, () => "因给出了候选基因或遗传方式"],
  [/^([\d,]+) diseases? caught abroad or from animals(, unless it fits best)?$/, (n, best) => `${n} 种境外感染或动物传播的疾病${best ? "（最相符者除外）" : ""}`],
  [/^([\d,]+) diseases? of one sex, which is not told, unless it fits best$/, (n) => `${n} 种仅见于一种性别的疾病（未说明性别；最相符者除外）`],
  [/^([\d,]+) diseases? that begin in infancy$/, (n) => `${n} 种婴儿期起病的疾病`],
  [/^([\d,]+) diseases? of (.+)$/, (n, whom) => `${n} 种${whom.split(" or ").map((each) => WHOM[each] ?? each).join("或")}疾病`],
  [/^this graph describes only (\d+) diseases in words; a common one of the patient may be missing below$/, (n) => `本图谱只有 ${n} 种疾病带有文字描述的症状；患者的常见病可能不在下列之中`],
  [/^this graph describes no common diseases; the patient's may be missing below$/, () => "本图谱没有常见病；患者的疾病可能不在下列之中"],
  [/^this graph describes no rare diseases by phenotypes; the patient's may be missing below$/, () => "本图谱没有以表型描述的罕见病；患者的疾病可能不在下列之中"],
  [/^load (?:symptoms in words|their annotations): (`.*`)$/, (command) => `加载：${command}`],
  [/^no finding was recognised(?: in the text)?$/, () => "没有识别出任何表现"],
  [/^no finding was recognised, and no disease of the graph is described in these words$/, () => "没有识别出任何表现，图谱中也没有以这些文字描述的疾病"],
  [/^no observed finding of the case can be ranked$/, () => "没有可用于排序的表现"],
  [/^(?:give at least one phenotypic abnormality|name the patient's signs and symptoms).*$/, () => "请至少给出患者的一项表现，例如“共济失调”"],
  [/^describe the findings in other words, or give HPO ids$/, () => "请换一种说法，或给出 HPO 编号"],
  [/^the text states more than one (age|sex): (.*)$/, (what, said) => `文中有不止一个${WHAT[what]}：${said.replace(/characters /g, "字符 ").replace(/ and /g, "、")}`],
  [/^none was used; give the patient's (age|sex) itself$/, (what) => `均未采用；请直接填写${WHAT[what]}`],
  [/^(.+) is (?:said to be present and absent|given both as present and as absent)$/, (name) => `${name} 既说有又说无`],
  [/^kept as present; correct the case if it is absent$/, () => "按“有”处理；如确实没有请更正"],
  [/^(.+) is given as absent, but (.+), a kind of it, as present$/, (one, other) => `${one} 说无，但其下位的 ${other} 说有`],
  [/^the absence was left out$/, () => "未采用“无”"],
  [/^the graph has no Chinese names, so only some everyday Chinese words are read$/, () => "图谱没有中文名称，因此只能读出部分日常中文词语"],
  [/^add them with (`.*`)$/, (command) => `添加：${command}`],
  [/^the graph does not know (.+), so .+ changes nothing$/, (what) => `图谱没有“${what}”的资料，因此该项不影响排序`],
  [/^Too little to go on: (.+) alone\. No disease is ranked\.$/, (complaint) => `依据太少：仅有“${complaint}”，因此不对疾病排序。`],
  [/^every complaint, when it began and how it goes on$/, () => "每项不适、何时开始、如何变化"],
  [/^what examination, laboratory and imaging have shown$/, () => "体格检查、化验和影像的结果"],
  [/^the patient's (age|sex)(?: and (sex))?$/, (one, other) => `患者的${[one, other].filter(Boolean).map((each) => WHAT[each]).join("和")}`],
  [/^patients come after (.+); this one after (.+)$/, (usual, here) => `患者多在起病${usual.split("–").map((each) => word(each, LASTING)).join("至")}后就诊；此患者已${word(here, LASTING)}`],
  [/^a disease of (male|female) organs; the patient is (male|female)$/, (organs, sex) => `${organs === "male" ? "男性" : "女性"}器官的疾病；患者为${sex === "male" ? "男性" : "女性"}`],
  [/^begins mostly (.+); the patient's began (.+)$/, (usual, here) => `多在${word(usual, STAGES)}起病；患者在${word(here, STAGES)}起病`],
  [/^begins mostly (.+); the patient is (.+)$/, (usual, here) => `多在${word(usual, STAGES)}起病；患者处于${word(here, STAGES)}`],
  [/^([A-Za-z -]+); the patient is female$/, (mode) => `${word(mode, MODES)}；患者为女性`],
  [/^([A-Za-z -]+); (.*)$/, (mode, said) => (MODES[mode] ? `${MODES[mode]}；${family(said)}` : null)],
  [/^its gene (.+) is not among the ([\d,]+) candidate genes$/, (gene, n) => `其基因 ${gene} 不在 ${n} 个候选基因之中`],
  [/^its gene (.+) is the candidate gene(.*)$/, (gene, more) => `其基因 ${gene} 即候选基因${more}`],
  [/^its gene (.+) is among ([\d,]+) candidate genes(.*)$/, (gene, n, more) => `其基因 ${gene} 在 ${n} 个候选基因之中${more}`],
];

const family = (said) => said.split(", ").map((each) => each.replace("the parents are related", "父母近亲").replace("a parent is affected", "父或母患病")
  .replace("a sibling is affected", "同胞患病").replace(/^(.+) inheritance is suspected$/, (_, mode) => `疑为${word(mode, MODES)}`)).join("，");

/** A message of the server in the page's language, where it is of a known form. */
export function told(message) {
  if (!chinese() || !message) return message;
  for (const [form, words] of FORMS) {
    const found = form.exec(message);
    const said = found && words(...(found.length > 1 ? found.slice(1) : found));
    if (said) return said;
  }
  return message;
}
