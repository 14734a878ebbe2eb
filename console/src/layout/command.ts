import type { Language } from '../text/language.tsx';
import type { PageFor } from './page-for.ts';

/** What a command is about. It is chosen after the command. */
export type CommandSubject = 'account' | 'route' | 'provider' | 'model';

/** An action of a page that the command palette offers. */
export interface Command {
  readonly title: Readonly<Record<Language, string>>;
  /** Commands of operators change something, so auditors do not see them. */
  readonly for: PageFor;
  /** `null` if the command needs no subject. */
  readonly subject: CommandSubject | null;
  /** The address of the dialog. `of` is the id or name of the subject; empty without one. */
  readonly place: (of: string) => string;
}
