// Made from docs/source/live-parts.md (d602cbf3ad59). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
/** Greedy decoding and beam search, as in attention_book/generation/. */

export const BOS = 1, EOS = 2;


/** The natural logarithm of each token's probability. */
export function logSoftmax(logits) {
  const largest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const sum = logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
  return logits.map((logit) => logit - largest - Math.log(sum));
}


/** All steps of a search at once, and what it has found. */
export function finish(steps) {
  let step;
  do step = steps.next(); while (!step.done);
  return step.value;
}


export const generate = (...asked) => finish(greedySteps(...asked));

/** Write the most probable token each time, up to <eos>. */
export function* greedySteps(model, source, { maxLength, isCausal = true }) {
  const memory = model.encode(source), caches = model.emptyCaches();
  const tokenIds = [];
  let logProb = 0;
  while (tokenIds.length < maxLength && tokenIds.at(-1) !== EOS) {
    const logits = isCausal
      ? model.decode([tokenIds.at(-1) ?? BOS], memory, caches)
      : model.decode([BOS, ...tokenIds], memory, undefined, false); // all anew
    const logProbs = logSoftmax(logits.row(logits.rows - 1));
    const tokenId = logProbs.indexOf(Math.max(...logProbs));
    tokenIds.push(tokenId);
    logProb += logProbs[tokenId];
    yield { tokenId, logProbs };
  }
  return { tokenIds, logProb };
}


export const beamSearch = (...asked) => finish(beamSteps(...asked));

/** Keep the best hypotheses at each step; return the best that has ended. */
export function* beamSteps(model, source, {
  maxLength, beamSize = 4, lengthPenalty = 0.6, isCausal = true,
}) {
  const score = ({ tokenIds, logProb }, length = tokenIds.length) =>
    logProb / ((5 + length) / 6) ** lengthPenalty;
  const hasEnded = ({ tokenIds }) =>
    tokenIds.at(-1) === EOS || tokenIds.length === maxLength;
  const memory = model.encode(source);
  let beam = [{ tokenIds: [], logProb: 0, caches: model.emptyCaches() }];
  let best = null;
  while (beam.length && !(best && score(best) >= score(beam[0], maxLength))) {
    const all = [];
    for (const parent of beam) {
      const logits = isCausal
        ? model.decode([parent.tokenIds.at(-1) ?? BOS], memory, parent.caches)
        : model.decode([BOS, ...parent.tokenIds], memory, undefined, false);
      const logProbs = logSoftmax(logits.row(logits.rows - 1));
      all.push(...largest(logProbs, 2 * beamSize).map((tokenId) => ({
        tokenIds: [...parent.tokenIds, tokenId],
        logProb: parent.logProb + logProbs[tokenId],
        caches: parent.caches,
      })));
      yield { beam, best };
    }
    all.sort((a, b) => b.logProb - a.logProb);
    const candidates = all.slice(0, 2 * beamSize);
    for (const ended of candidates.slice(0, beamSize).filter(hasEnded)) {
      if (!best || score(ended) > score(best)) best = ended;
    }
    const going = candidates.filter((candidate) => !hasEnded(candidate));
    beam = going.slice(0, beamSize).map((child) => {
      const caches = child.caches.map((cache) => cache.copy());
      return { ...child, caches };
    });
    yield { beam, best };
    if (beamSize === 1 && best) break;
  }
  return best;
}


/** The places of the n largest numbers, the largest first. */
export function largest(numbers, n) {
  const places = [];
  for (let i = 0; i < numbers.length; i++) {
    if (places.length === n && numbers[i] <= numbers[places[n - 1]]) continue;
    let place = places.findIndex((other) => numbers[other] < numbers[i]);
    if (place < 0) place = places.length;
    places.splice(place, 0, i);
    places.length = Math.min(places.length, n);
  }
  return places;
}
