import leven from 'leven';

/** Returns a sentence that names the most similar name, with a blank before it; an empty text if none is similar. */
export function didYouMean(misspelt: string, names: readonly string[]): string {
  const closest = closestName(misspelt, names);
  return closest === null ? '' : ` Did you mean ${JSON.stringify(closest)}?`;
}

/** Returns the most similar name; `null` if none is similar. */
export function closestName(misspelt: string, names: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(misspelt.length / 3)) + 1;
  for (const name of names) {
    const distance = leven(misspelt.toLowerCase(), name.toLowerCase());
    // A word that differs in every letter is not similar.
    if (distance < bestDistance && distance < name.length) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}
