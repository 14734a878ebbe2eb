import type { Change } from './changes-store.ts';
import type { Recorded } from './recorded-value.ts';

/** A text in both languages of the console. */
export interface Bilingual {
  readonly en: string;
  readonly zh: string;
}

/** What a change has to do with: names that are looked up, because rows have ids alone. */
export interface KnownNames {
  readonly accounts: ReadonlyMap<string, string>;
  readonly plans: ReadonlyMap<string, string>;
}

export type ToldChange = Pick<
  Change,
  'action' | 'outcome' | 'subjectKind' | 'subjectId' | 'accountId' | 'before' | 'after'
>;

/** What sentences say of a change, as texts. What a row lacks is an empty one, in both languages. */
export class ChangeFacts {
  readonly subjectKind: string;
  readonly subjectId: string | null;
  readonly #change: ToldChange;
  readonly #names: KnownNames;

  constructor(change: ToldChange, names: KnownNames) {
    this.subjectKind = change.subjectKind;
    this.subjectId = change.subjectId;
    this.#change = change;
    this.#names = names;
  }

  /** A member of the subject as it was. */
  was(name: string): Recorded {
    return memberOf(this.#change.before, name);
  }

  /** A member of the subject as it is since. */
  is(name: string): Recorded {
    return memberOf(this.#change.after, name);
  }

  /** A member of the subject on either side of the change. */
  either(name: string): Recorded {
    return this.is(name) ?? this.was(name);
  }

  /** Whether the subject was there before. */
  get wasThere(): boolean {
    return this.#change.before !== null;
  }

  /** The name of the subject, in quotes. One without a name, such as a key, is known by what it begins with. */
  get name(): string {
    return quotedName(this.either('name') ?? this.either('prefix'));
  }

  /** The account that the change is of. */
  get account(): Bilingual {
    const { accountId } = this.#change;
    if (accountId === null) return NOTHING;
    const name = quotedName(this.#names.accounts.get(accountId) ?? accountId);
    return { en: ` account ${name}`, zh: `账户${name}` };
  }

  /** The plan that is granted or given, in quotes. */
  get plan(): string {
    const id = this.either('planId');
    return quotedName(this.either('planName') ?? (typeof id === 'string' ? (this.#names.plans.get(id) ?? id) : null));
  }

  /** What a voucher gives: an amount, or a plan. */
  get gift(): Bilingual {
    const amount = yuan(this.either('amountYuan'));
    return amount === '' ? { en: `plan ${this.plan}`, zh: `套餐${this.plan}` } : { en: amount, zh: ` ${amount}` };
  }

  /** A call has no name: its model and its account are said beside its id. */
  get call(): Bilingual {
    const { account, subjectId } = this;
    const [model] = [this.was('model')].filter((name) => typeof name === 'string');
    return {
      en: `call ${subjectId}${model === undefined ? '' : ` (${model})`}${account.en === '' ? '' : ` of${account.en}`}`,
      zh: `${account.zh === '' ? '' : `${account.zh}的`}调用 ${subjectId}${model === undefined ? ' ' : `（${model}）`}`,
    };
  }

  /** Where somebody signs in elsewhere; empty: by a password. */
  get issuer(): string {
    return String(this.either('provider') ?? this.either('issuer') ?? '');
  }
}

export const NOTHING: Bilingual = { en: '', zh: '' };

const ROLES: Readonly<Record<string, Bilingual>> = {
  owner: { en: 'owner', zh: '所有者' },
  member: { en: 'member', zh: '成员' },
  operator: { en: 'operator', zh: '管理员' },
  auditor: { en: 'auditor', zh: '审计员' },
};

export function roleOf(name: Recorded): Bilingual {
  return ROLES[String(name)] ?? NOTHING;
}

/** Text that people have written, behind a colon. */
export function remark(text: Recorded): Bilingual {
  const said = typeof text === 'string' ? text.trim() : '';
  return said === '' ? NOTHING : { en: `: ${said}`, zh: `：${said}` };
}

/** An amount that rows have as text; `isSigned`: with its sign, whichever it is. */
export function yuan(amount: Recorded, isSigned = false): string {
  if (typeof amount !== 'string') return '';
  const sign = amount.startsWith('-') ? '−' : isSigned ? '+' : '';
  return `${sign}¥${amount.replace(/^-/, '')}`;
}

export function quotedName(name: Recorded): string {
  return name === null ? '' : `“${String(name)}”`;
}

function memberOf(side: Recorded, name: string): Recorded {
  if (typeof side !== 'object' || side === null || Array.isArray(side)) return null;
  return (side as { readonly [name: string]: Recorded })[name] ?? null;
}
