/** The audience of a page: members and owners of an account, its owners, operators and auditors, or everyone. */
export type PageFor = 'member' | 'owner' | 'operator' | 'anyone';

/** What decides which pages a user may open. */
export interface Viewer {
  readonly hasAccount: boolean;
  readonly isOwner: boolean;
  readonly operatorRole: 'operator' | 'auditor' | null;
}

export function mayOpen(pageFor: PageFor, { hasAccount, isOwner, operatorRole }: Viewer): boolean {
  switch (pageFor) {
    case 'anyone':
      return true;
    case 'member':
      return hasAccount;
    case 'owner':
      return isOwner;
    case 'operator':
      return operatorRole !== null;
  }
}

/** Items that the user may use. Auditors open the pages of operators, but run none of their commands. */
export const commandsFor = <Item extends { readonly for: PageFor }>(
  commands: readonly Item[],
  viewer: Viewer,
): Item[] =>
  commands.filter(
    (each) => mayOpen(each.for, viewer) && (each.for !== 'operator' || viewer.operatorRole === 'operator'),
  );

/** Whether titles have all words of the text, in any order. */
export function matches(titles: readonly string[], text: string): boolean {
  const title = titles.join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => title.includes(word));
}
