import leven from 'leven';

/** The known name that a misspelt one most likely meant, or `null` if none is near. */
export function closestName(misspelt: string, names: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(misspelt.length / 3)) + 1;
  for (const name of names) {
    const distance = leven(misspelt.toLowerCase(), name.toLowerCase());
    // A word of which every letter is different is no suggestion.
    if (distance < bestDistance && distance < name.length) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}
