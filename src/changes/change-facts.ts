import type { Change } from './changes-store.ts';
import type { Recorded } from './recorded-value.ts';

export interface Bilingual {
  readonly en: string;
  readonly zh: string;
}

/** Names by id. Rows of the audit log contain only ids. */
export interface KnownNames {
  readonly accounts: ReadonlyMap<string, string>;
  readonly plans: ReadonlyMap<string, string>;
}

export type DescribedChange = Pick<
  Change,
  'action' | 'outcome' | 'subjectKind' | 'subjectId' | 'accountId' | 'before' | 'after'
>;

/** Facts of a change, as text in both languages. A missing fact is an empty text. */
export class ChangeFacts {
  readonly subjectKind: string;
  readonly subjectId: string | null;
  readonly #change: DescribedChange;
  readonly #names: KnownNames;

  constructor(change: DescribedChange, names: KnownNames) {
    this.subjectKind = change.subjectKind;
    this.subjectId = change.subjectId;
    this.#change = change;
    this.#names = names;
  }

  /** Returns a field as it was before the change. */
  was(name: string): Recorded {
    return memberOf(this.#change.before, name);
  }

  /** Returns a field as it is after the change. */
  is(name: string): Recorded {
    return memberOf(this.#change.after, name);
  }

  /** Returns a field's value after the change; if it has none, its value before. */
  either(name: string): Recorded {
    return this.is(name) ?? this.was(name);
  }

  get wasThere(): boolean {
    return this.#change.before !== null;
  }

  /** Name of the subject, or the prefix of a key, which may have no name. */
  get name(): string {
    return quotedName(this.either('name') ?? this.either('prefix'));
  }

  get account(): Bilingual {
    const { accountId } = this.#change;
    if (accountId === null) return NOTHING;
    const name = quotedName(this.#names.accounts.get(accountId) ?? accountId);
    return { en: ` account ${name}`, zh: `账户${name}` };
  }

  get plan(): string {
    const id = this.either('planId');
    return quotedName(this.either('planName') ?? (typeof id === 'string' ? (this.#names.plans.get(id) ?? id) : null));
  }

  get gift(): Bilingual {
    const amount = yuan(this.either('amountYuan'));
    return amount === '' ? { en: `plan ${this.plan}`, zh: `套餐${this.plan}` } : { en: amount, zh: ` ${amount}` };
  }

  /** Id of a call, which has no name, with its model and account. */
  get call(): Bilingual {
    const { account, subjectId } = this;
    const [model] = [this.was('model')].filter((name) => typeof name === 'string');
    return {
      en: `call ${subjectId}${model === undefined ? '' : ` (${model})`}${account.en === '' ? '' : ` of${account.en}`}`,
      zh: `${account.zh === '' ? '' : `${account.zh}的`}调用 ${subjectId}${model === undefined ? ' ' : `（${model}）`}`,
    };
  }

  /** Provider of an identity; empty for a sign-in with a password. */
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

export function remark(text: Recorded): Bilingual {
  const said = typeof text === 'string' ? text.trim() : '';
  return said === '' ? NOTHING : { en: `: ${said}`, zh: `：${said}` };
}

/** Formats an amount. `isSigned`: with a plus sign, too. */
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
