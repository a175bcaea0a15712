/** What a change does on sentences that the model never learnt: the record of an experiment. */
import { pick } from "./page.js";

const RECORD = new URL("broken-translator.json", import.meta.url);
const WAYS = { "en-zh": "英译汉 | English to Chinese", "zh-en": "汉译英 | Chinese to English" };
let record;


/** A line for each thing that is broken. */
export async function measured(state, nameOf) {
  const arms = [];
  for (const [name, heads] of Object.entries(state.silent)) {
    if (heads.length === 4) arms.push([name, nameOf(name)]);
    else heads.forEach((head) => arms.push([`${name}.${head}`, nameOf(name, head)]));
  }
  const { temperature, isCausal, leftOut } = state;
  if (temperature !== 1) arms.push([`temperature ${temperature}`, pick(`温度 ${temperature} | Temperature ${temperature}`)]);
  if (!isCausal) arms.push(["no causal mask", pick("不用因果掩码 | No causal mask")]);
  if (!arms.length && !leftOut.length) return [];
  record ??= await (await fetch(RECORD)).json();
  const lines = arms.map(([arm, label]) => `${label}${pick("： | : ")}${say(arm)}`);
  const about = pick("同样的改动，三组各 200 句没学过的句子，每个方向： | The same change on three draws of 200 sentences that it never learnt, each way:");
  const alone = arms.length > 1 ? [pick("这些数是一样一样分开量的。 | Each was measured alone.")] : [];
  const left = leftOut.length ? [pick("去掉词元没有量过。 | Leaving out tokens was not measured.")] : [];
  return [...arms.length ? [about] : [], ...lines, ...alone, ...left];
}


function say(arm) {
  const mean = (key) => record.results[key].reduce((sum, x) => sum + x, 0) / record.results[key].length;
  return Object.entries(WAYS).map(([way, label]) => {
    const change = mean(`${arm}: ${way}, chrf`) - mean(`nothing: ${way}, chrf`);
    const share = Math.round(100 * mean(`${arm}: ${way}, changed`));
    const points = `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(1)}`;
    return pick(`${pick(label)} chrF ${points}，${share}% 的译文变了 | ${pick(label)} chrF ${points}, ${share}% of translations changed`);
  }).join(pick("； | ; "));
}
