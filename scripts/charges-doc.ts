import { serviceTerms, type TermName } from '../src/protocols/metering/service-terms.ts';
import { type UnitName, type UsageUnit, usageUnits } from '../src/protocols/metering/usage-units.ts';
import { type BilledFact, billedFacts, unreadFacts } from './billed-facts.ts';
import { writeLastPart } from './generated-doc.ts';
import { markdownTable } from './markdown.ts';

/** Writes the tables of `docs/charges.md` from `scripts/billed-facts.ts` and the usage units. */

const rows = billedFacts.map((fact) => {
  const where = fact.vendor === undefined ? fact.where : `${fact.where} (${fact.vendor})`;
  return [fact.operations.join(', '), where, priceOf(fact)];
});

const part = `${markdownTable(['operation', 'what the response has', 'what prices it'], rows)}

In streams, the gateway reads the members of the table from every event, and the largest value of each member counts. Chat streams of Groq have them
in \`x_groq\`, those of Moonshot in the last choice; both are read. In messages streams, the counts of the input [belong
together](client-aborts.md#figures-of-a-stream).

What is not read:

${markdownTable(['operation', 'what', 'why'], unreadFacts)}
`;

writeLastPart('docs/charges.md', part);

function priceOf({ counts, note, operations }: BilledFact): string {
  const price = priceKey(counts, operations);
  return note === undefined ? price : `${price}; ${note}`;
}

function priceKey(counts: BilledFact['counts'], operations: BilledFact['operations']): string {
  if (counts === 'images') return '`perImage`';
  if (counts === 'calls') return '`perCall`';
  if (isTerm(counts)) return `\`${serviceTerms[counts].priceKey}\`, a factor; without one the plain price`;
  const { side, price }: UsageUnit = usageUnits[counts as UnitName];
  if (side === 'withinOutput') return 'nothing more: inside the output';
  if (price === null) return 'nothing';
  // Only image models may lack a price of the output.
  const isNeeded = price.key === 'output' && !operations.includes('images.generate');
  const otherwise = price.standIn === null || isNeeded ? '' : `, else \`${price.standIn}\``;
  return `\`${price.key}\`${price.isMarked && price.standIn === null ? ', else nothing' : otherwise}`;
}

function isTerm(counts: string): counts is TermName {
  return Object.hasOwn(serviceTerms, counts);
}
