// Written by `npm run console:types` from /openapi.json. Do not change it by hand.

export type Account = { readonly id: string; readonly name: string; readonly email: string | null; readonly verified: boolean; readonly status: 'active' | 'suspended'; readonly statusReason: string | null; readonly statusChangedAt: Instant | null; readonly balanceYuan: Yuan; readonly heldYuan: Yuan; readonly spentTodayYuan: Yuan; readonly dailySpendCapYuan: Yuan | null; readonly ownDailySpendCapYuan: Yuan | null; readonly priceFactorBasisPoints: number; readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly modelLimits: { readonly [name: string]: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null } }; readonly groupId: string | null; readonly allowedModels: readonly string[] | null; readonly membersSeeBalance: boolean; readonly recording: { readonly clientAddress: boolean; readonly program: boolean; readonly endUser: boolean }; readonly buyer: Buyer | null; readonly createdAt: Instant };

export type AccountOfMember = { readonly id: string; readonly name: string; readonly verified: boolean; readonly status: 'active' | 'suspended'; readonly createdAt: Instant; readonly timezone: string; readonly today: string; readonly role: 'member' };

export type AccountOfOwner = { readonly id: string; readonly name: string; readonly verified: boolean; readonly status: 'active' | 'suspended'; readonly createdAt: Instant; readonly email: string | null; readonly balanceYuan: Yuan; readonly heldYuan: Yuan; readonly spentTodayYuan: Yuan; readonly dailySpendCapYuan: Yuan | null; readonly ownDailySpendCapYuan: Yuan | null; readonly priceFactorBasisPoints: number; readonly membersSeeBalance: boolean; readonly recording: { readonly clientAddress: boolean; readonly program: boolean; readonly endUser: boolean }; readonly buyer: Buyer | null; readonly timezone: string; readonly today: string; readonly recordingInForce: { readonly clientAddress: boolean; readonly program: boolean; readonly endUser: boolean }; readonly role: 'owner'; readonly dailySpendCapInForceYuan: Yuan | null };

export type AdminToken = { readonly id: string; readonly name: string; readonly role: 'operator' | 'auditor' | null; readonly scopes: readonly 'export'[]; readonly prefix: string; readonly createdAt: Instant; readonly createdBy: string; readonly createdById: string | null; readonly madeByTokenId: string | null; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null; readonly lastUsedAt: Instant | null };

export type Announcement = { readonly id: string; readonly level: 'info' | 'warning'; readonly textEn: string | null; readonly textZh: string | null; readonly audience: 'everyone' | 'signed_in'; readonly startsAt: Instant; readonly endsAt: Instant; readonly createdAt: Instant; readonly createdBy: string; readonly createdById: string | null };

export type Audit = { readonly isSound: boolean; readonly invariants: readonly { readonly invariant: string; readonly breaches: readonly { readonly accountId: string; readonly detail: string }[] }[] };

export type Buyer = { readonly companyName: string; readonly taxNumber: string | null; readonly address: string | null; readonly email: string | null };

export type Call = { readonly id: string; readonly accountId: string; readonly accountName: string; readonly keyId: string; readonly keyName: string | null; readonly groupId: string | null; readonly context: string; readonly operation: string; readonly model: string; readonly route: { readonly provider: string; readonly model: string }; readonly session: { readonly source: string; readonly route: { readonly provider: string; readonly model: string } } | null; readonly translation: { readonly to: string; readonly leftOut: readonly string[]; readonly added: readonly string[] } | null; readonly fallback: { readonly asked: string; readonly reason: string } | null; readonly failedRoutes: readonly { readonly provider: string; readonly model: string; readonly error: string }[]; readonly attempts: readonly ({ readonly no: number; readonly provider: string; readonly model: string; readonly credential: string | null; readonly startedMs: number; readonly durationMs: number; readonly failure: 'connection' | 'queue' | 'refused' | 'account' | 'timeout' | 'interrupted' | 'unusable' | null; readonly httpStatus: number | null; readonly words: string | null; readonly isPrivate: boolean; readonly isLost: boolean; readonly costAtMostYuan: Yuan | null })[]; readonly isStream: boolean; readonly status: 'succeeded' | 'failed' | 'aborted' | 'unresolved' | 'resolved'; readonly httpStatus: number | null; readonly errorCode: string | null; readonly requestId: string; readonly gatewayRequestId: string; readonly clientRequestId: string | null; readonly clientAddress: string | null; readonly program: string | null; readonly endUser: string | null; readonly tags: readonly string[]; readonly usage: { readonly source: 'observed' | 'estimated'; readonly inputTokens: number; readonly cachedInputTokens: number; readonly cacheWriteTokens: number; readonly cacheWrite1hTokens: number; readonly imageInputTokens: number; readonly audioInputTokens: number; readonly citationTokens: number; readonly outputTokens: number; readonly reasoningTokens: number; readonly imageOutputTokens: number; readonly audioOutputTokens: number; readonly separateReasoningTokens: number; readonly images: number; readonly searchUnits: number; readonly webSearches: number; readonly webFetches: number; readonly fileSearches: number; readonly codeExecutions: number; readonly containers: number; readonly otherToolUses: number } | null; readonly excessUsage: { readonly inputTokens?: number | undefined; readonly outputTokens?: number | undefined; readonly searchUnits?: number | undefined; readonly toolUses?: number | undefined; readonly images?: number | undefined } | null; readonly doubtedUsage: readonly ('input' | 'output' | 'searchUnits')[]; readonly innerModels: readonly ({ readonly name: string; readonly model: string; readonly inputTokens: number; readonly outputTokens: number; readonly chargeYuan: Yuan; readonly usage: { readonly inputTokens?: number | undefined; readonly cachedInputTokens?: number | undefined; readonly cacheWriteTokens?: number | undefined; readonly cacheWrite1hTokens?: number | undefined; readonly imageInputTokens?: number | undefined; readonly audioInputTokens?: number | undefined; readonly citationTokens?: number | undefined; readonly outputTokens?: number | undefined; readonly reasoningTokens?: number | undefined; readonly imageOutputTokens?: number | undefined; readonly audioOutputTokens?: number | undefined; readonly separateReasoningTokens?: number | undefined; readonly searchUnits?: number | undefined; readonly webSearches?: number | undefined; readonly webFetches?: number | undefined; readonly fileSearches?: number | undefined; readonly codeExecutions?: number | undefined; readonly containers?: number | undefined; readonly otherToolUses?: number | undefined; readonly serverToolUses?: number | undefined; readonly compactions?: number | undefined } | null; readonly pricedBy: PricedBy | null; readonly price: { readonly rule: 'base' | 'peak' | 'off_peak' } & { readonly [name: string]: Yuan | Prices } | null })[]; readonly pricedBy: PricedBy | null; readonly unpriced: readonly string[]; readonly price: { readonly rule: 'base' | 'peak' | 'off_peak' } & { readonly [name: string]: Yuan | Prices }; readonly priceFactorBasisPoints: number | null; readonly chargeYuan: Yuan | null; readonly refundedYuan: Yuan | null; readonly refunds: readonly ({ readonly entryId: string; readonly amountYuan: Yuan; readonly memo: string | null; readonly at: Instant })[]; readonly costYuan: Yuan | null; readonly reservedYuan: Yuan | null; readonly heldYuan: Yuan | null; readonly heldTokens: number | null; readonly resolution: { readonly action: 'charge' | 'count' | 'release'; readonly tokens?: number | undefined; readonly by: string | null; readonly byId: string | null; readonly via: 'admin_token' | 'command_line' | 'user'; readonly memo: string | null; readonly at: Instant } | null; readonly startedAt: Instant; readonly endedAt: Instant; readonly durationMs: number; readonly firstByteMs: number | null };

export type CallInFlight = { readonly id: string; readonly accountId: string; readonly accountName: string; readonly keyId: string; readonly keyName: string | null; readonly context: string; readonly operation: string | null; readonly model: string; readonly route: { readonly provider: string | null; readonly model: string | null }; readonly isStream: boolean | null; readonly status: 'in_flight'; readonly requestId: string | null; readonly clientAddress: string | null; readonly program: string | null; readonly endUser: string | null; readonly tags: readonly string[]; readonly nodeId: string; readonly heldYuan: Yuan | null; readonly heldTokens: number | null; readonly startedAt: Instant | null; readonly reservedAt: Instant };

export type CallerBudget = { readonly kind: 'endUser' | 'tag'; readonly value: string | null; readonly isOwn: boolean; readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly used: { readonly dailySpendYuan: Yuan; readonly weeklySpendYuan: Yuan; readonly monthlySpendYuan: Yuan } };

export type Catalog = { readonly mode: 'file' | 'database'; readonly inForce: RevisionSummary | null; readonly scheduled: RevisionSummary | null; readonly base: number | null; readonly text: string; readonly failed: { readonly number: number; readonly message: string; readonly at: Instant } | null };

export type CatalogChange = { readonly section: 'billing' | 'limits' | 'providers' | 'models' | 'plans' | 'groups' | 'priceSource'; readonly name: string | null; readonly kind: 'added' | 'removed' | 'changed'; readonly setting: string | null; readonly before: string | null; readonly after: string | null; readonly from: string | null; readonly text: string };

export type CatalogSchema = { readonly [name: string]: unknown };

export type Change = { readonly id: string; readonly at: Instant; readonly endedAt: Instant | null; readonly outcome: 'done' | 'failed' | 'unknown'; readonly actor: { readonly kind: 'admin_token' | 'command_line' | 'user' | 'api_key' | 'visitor' | 'configuration'; readonly id: string | null; readonly name: string; readonly sessionId: string | null; readonly localUser: string | null }; readonly method: string | null; readonly path: string | null; readonly action: string; readonly subject: { readonly kind: string; readonly id: string | null }; readonly accountId: string | null; readonly accountName: string | null; readonly sentence: { readonly en: string; readonly zh: string }; readonly before: { readonly [name: string]: unknown } | null; readonly after: { readonly [name: string]: unknown } | null; readonly clientAddress: string | null; readonly requestId: string | null; readonly errorCode: string | null };

export type ChangedCatalog = { readonly number: number; readonly source: 'push' | 'rollback' | 'feed' | 'file'; readonly base: number | null; readonly reason: string | null; readonly createdBy: string; readonly createdById: string | null; readonly createdAt: Instant; readonly inForceAt: Instant | null; readonly appliedBy: string | null; readonly appliedById: string | null; readonly canceledAt: Instant | null; readonly canceledBy: string | null; readonly canceledById: string | null; readonly changes: readonly CatalogChange[] | null };

export type CheckedCatalog = { readonly text: string; readonly problems: readonly { readonly line: number; readonly key: string; readonly message: string }[]; readonly changes: readonly CatalogChange[] | null; readonly examples: readonly ({ readonly model: string; readonly before: Yuan | null; readonly now: Yuan; readonly later: readonly { readonly from: string; readonly yuan: Yuan }[]; readonly marginPercentBefore: string | null; readonly marginPercentNow: string | null })[] };

export type ConfigInForce = { readonly node: string | null; readonly file: string | null; readonly loadedAt: Instant; readonly overridden: readonly string[]; readonly needsRestart: readonly string[]; readonly lastError: { readonly at: Instant; readonly message: string } | null; readonly config: unknown };

export type ConfigReload = { readonly node: string | null; readonly file: string | null; readonly loadedAt: Instant; readonly overridden: readonly string[]; readonly needsRestart: readonly string[]; readonly lastError: { readonly at: Instant; readonly message: string } | null };

export type CreatedKey = { readonly id: string; readonly accountId: string; readonly name: string | null; readonly prefix: string; readonly createdAt: Instant; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null; readonly lastUsedAt: Instant | null; readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null; readonly dailyCalls: number | null; readonly concurrency: number | null; readonly modelBudgets: { readonly [name: string]: { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null } }; readonly allowedModels: readonly string[] | null; readonly allowedNetworks: readonly string[] | null; readonly scopes: readonly ('calls' | 'account')[]; readonly userId: string | null; readonly formerUserName: string | null; readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly modelLimits: { readonly [name: string]: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null } }; readonly key: string };

export type DialectSearch = { readonly provider: string; readonly protocol: 'chat' | 'messages'; readonly model: string | null; readonly providerModel: string; readonly trials: readonly ({ readonly tried: string; readonly status: 'succeeded' | 'failed'; readonly httpStatus: number | null; readonly durationMs: number; readonly message: string | null })[]; readonly dialect: { readonly reasoning?: 'effort' | 'thinking' | 'enable_thinking' | 'openrouter' | 'template' | 'none' | undefined; readonly efforts?: readonly ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max')[] | undefined; readonly replay?: 'none' | 'reasoning_content' | 'reasoning' | 'reasoning_details' | undefined; readonly thinking?: 'adaptive' | 'budget' | 'none' | undefined; readonly promptCache?: 'auto' | 'off' | undefined; readonly laterSystem?: 'user' | 'system' | undefined; readonly toolMedia?: 'user' | 'tool' | undefined; readonly maxTokens?: 'max_tokens' | 'max_completion_tokens' | undefined; readonly takes?: readonly string[] | undefined; readonly drops?: readonly string[] | undefined } | null; readonly yaml: string | null };

export type Drain = { readonly provider: string; readonly model: string | null; readonly providerModel: string | null; readonly reason: string | null; readonly by: string; readonly byId: string | null; readonly since: Instant };

export type FoundKey = { readonly id: string; readonly accountId: string; readonly name: string | null; readonly prefix: string; readonly createdAt: Instant; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null; readonly lastUsedAt: Instant | null; readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null; readonly dailyCalls: number | null; readonly concurrency: number | null; readonly modelBudgets: { readonly [name: string]: { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null } }; readonly allowedModels: readonly string[] | null; readonly allowedNetworks: readonly string[] | null; readonly scopes: readonly ('calls' | 'account')[]; readonly userId: string | null; readonly formerUserName: string | null; readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly modelLimits: { readonly [name: string]: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null } }; readonly status: 'active' | 'revoked' | 'expired'; readonly account: { readonly id: string; readonly name: string; readonly email: string | null; readonly verified: boolean; readonly status: 'active' | 'suspended'; readonly statusReason: string | null } };

export type FoundVoucher = { readonly codeEnd: string; readonly batch: VoucherBatch; readonly redemption: VoucherRedemption | null };

export type Group = { readonly id: string; readonly name: string; readonly isConfigured: boolean; readonly accounts: number; readonly hasMoreAccounts: boolean; readonly models: readonly string[] | null; readonly providers: readonly string[] | null; readonly priceFactorBasisPoints: number; readonly fallbacks: readonly string[]; readonly pricedModels: readonly string[]; readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly dailySpendCapYuan: Yuan | null };

export type Identity = { readonly id: string; readonly provider: string | null; readonly issuer: string; readonly subject: string; readonly createdAt: Instant; readonly lastUsedAt: Instant | null };

export type ImportedKey = { readonly id: string; readonly accountId: string; readonly name: string | null; readonly prefix: string; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null };

export type Instant = string;

export type Invitation = { readonly id: string; readonly email: string | null; readonly role: 'owner' | 'member'; readonly createdBy: string; readonly createdById: string | null; readonly createdAt: Instant; readonly expiresAt: Instant };

export type InvoiceRequest = { readonly id: string; readonly accountId: string; readonly accountName: string | null; readonly month: string | null; readonly entryIds: readonly string[] | null; readonly amountYuan: Yuan; readonly buyer: Buyer; readonly state: 'open' | 'issued' | 'refused'; readonly requestedAt: Instant; readonly requestedBy: string; readonly requestedById: string | null; readonly closedAt: Instant | null; readonly closedBy: string | null; readonly closedById: string | null; readonly invoiceNumber: string | null; readonly note: string | null };

export type Key = { readonly id: string; readonly accountId: string; readonly name: string | null; readonly prefix: string; readonly createdAt: Instant; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null; readonly lastUsedAt: Instant | null; readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null; readonly dailyCalls: number | null; readonly concurrency: number | null; readonly modelBudgets: { readonly [name: string]: { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null } }; readonly allowedModels: readonly string[] | null; readonly allowedNetworks: readonly string[] | null; readonly scopes: readonly ('calls' | 'account')[]; readonly userId: string | null; readonly formerUserName: string | null; readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly modelLimits: { readonly [name: string]: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null } }; readonly used: { readonly dailySpendYuan: Yuan; readonly weeklySpendYuan: Yuan; readonly monthlySpendYuan: Yuan; readonly totalSpendYuan: Yuan; readonly dailyCalls: number } | null; readonly usedByModel: { readonly [name: string]: { readonly dailySpendYuan: Yuan; readonly weeklySpendYuan: Yuan; readonly monthlySpendYuan: Yuan; readonly totalSpendYuan: Yuan } } };

export type LatencyGroup = { readonly hour?: string | undefined; readonly day?: string | undefined; readonly model?: string | undefined; readonly provider?: string | undefined; readonly providerModel?: string | undefined; readonly attempts: number; readonly errors: number; readonly refused: number; readonly errorRatio: number | null; readonly durationMs: { readonly p50: number | null; readonly p95: number | null }; readonly firstByteMs: { readonly p50: number | null; readonly p95: number | null }; readonly outputTokens: number; readonly tokensPerSecond: number | null };

export type LedgerEntry = { readonly id: string; readonly kind: 'top_up' | 'charge' | 'refund' | 'adjustment'; readonly amountYuan: Yuan; readonly balanceAfterYuan: Yuan; readonly callId: string | null; readonly memo: string | null; readonly reference: string | null; readonly createdAt: Instant };

export type LimitsInForce = { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly modelLimits: { readonly [name: string]: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null } } };

export type LinkView = { readonly kind: 'first_sign_in' | 'invitation' | 'reset'; readonly email: string | null; readonly name: string | null; readonly accountName: string | null; readonly role: 'owner' | 'member' | null; readonly expiresAt: Instant };

export type Member = { readonly userId: string; readonly email: string | null; readonly name: string; readonly role: 'owner' | 'member'; readonly status: 'active' | 'suspended'; readonly since: Instant; readonly lastSignInAt: Instant | null; readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null; readonly dailyCalls: number | null; readonly concurrency: number | null; readonly modelBudgets: { readonly [name: string]: { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null } }; readonly allowedModels: readonly string[] | null; readonly used: { readonly dailySpendYuan: Yuan; readonly weeklySpendYuan: Yuan; readonly monthlySpendYuan: Yuan; readonly totalSpendYuan: Yuan; readonly dailyCalls: number } | null; readonly usedByModel: { readonly [name: string]: { readonly dailySpendYuan: Yuan; readonly weeklySpendYuan: Yuan; readonly monthlySpendYuan: Yuan; readonly totalSpendYuan: Yuan } } };

export type MemberLimits = { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null; readonly dailyCalls: number | null; readonly concurrency: number | null; readonly modelBudgets: { readonly [name: string]: { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null } }; readonly allowedModels: readonly string[] | null; readonly used: { readonly dailySpendYuan: Yuan; readonly weeklySpendYuan: Yuan; readonly monthlySpendYuan: Yuan; readonly totalSpendYuan: Yuan; readonly dailyCalls: number } | null; readonly usedByModel: { readonly [name: string]: { readonly dailySpendYuan: Yuan; readonly weeklySpendYuan: Yuan; readonly monthlySpendYuan: Yuan; readonly totalSpendYuan: Yuan } } };

export type NewVoucherBatch = { readonly id: string; readonly name: string; readonly kind: 'value' | 'plan'; readonly amountYuan: Yuan | null; readonly planId: string | null; readonly count: number; readonly redeemedCount: number; readonly expiresAt: Instant | null; readonly createdAt: Instant; readonly createdBy: string; readonly createdById: string | null; readonly canceledAt: Instant | null; readonly codes: readonly string[] };

export type OfferedPlan = { readonly id: string; readonly name: string; readonly fiveHourCalls: number; readonly weeklyCalls: number; readonly concurrency: number; readonly quotaTokens: number; readonly periodDays: number; readonly models: readonly string[]; readonly inputByteLimit: number; readonly outputTokenLimit: number };

export type OneTimeLink = { readonly link: string; readonly linkKind: 'first_sign_in' | 'invitation' | 'reset'; readonly linkExpiresAt: Instant; readonly linkMailedTo: string | null; readonly linkHint: string | null };

export type OwnCall = { readonly id: string; readonly accountId: string; readonly keyId: string; readonly keyName: string | null; readonly context: string; readonly operation: string; readonly model: string; readonly isStream: boolean; readonly status: 'succeeded' | 'failed' | 'aborted' | 'unresolved' | 'resolved'; readonly httpStatus: number | null; readonly errorCode: string | null; readonly requestId: string; readonly gatewayRequestId: string; readonly clientRequestId: string | null; readonly clientAddress: string | null; readonly program: string | null; readonly endUser: string | null; readonly tags: readonly string[]; readonly usage: { readonly source: 'observed' | 'estimated'; readonly inputTokens: number; readonly cachedInputTokens: number; readonly cacheWriteTokens: number; readonly cacheWrite1hTokens: number; readonly imageInputTokens: number; readonly audioInputTokens: number; readonly citationTokens: number; readonly outputTokens: number; readonly reasoningTokens: number; readonly imageOutputTokens: number; readonly audioOutputTokens: number; readonly separateReasoningTokens: number; readonly images: number; readonly searchUnits: number; readonly webSearches: number; readonly webFetches: number; readonly fileSearches: number; readonly codeExecutions: number; readonly containers: number; readonly otherToolUses: number } | null; readonly excessUsage: { readonly inputTokens?: number | undefined; readonly outputTokens?: number | undefined; readonly searchUnits?: number | undefined; readonly toolUses?: number | undefined; readonly images?: number | undefined } | null; readonly doubtedUsage: readonly ('input' | 'output' | 'searchUnits')[]; readonly pricedBy: PricedBy | null; readonly price: { readonly rule: 'base' | 'peak' | 'off_peak' } & { readonly [name: string]: Yuan | Prices }; readonly priceFactorBasisPoints: number | null; readonly chargeYuan: Yuan | null; readonly refundedYuan: Yuan | null; readonly heldYuan: Yuan | null; readonly heldTokens: number | null; readonly startedAt: Instant; readonly endedAt: Instant; readonly durationMs: number; readonly firstByteMs: number | null; readonly translation: { readonly to: string; readonly leftOut: readonly string[]; readonly added: readonly string[] } | null; readonly fallback: { readonly asked: string; readonly reason: string } | null; readonly attempts: readonly ({ readonly no: number; readonly startedMs: number; readonly durationMs: number; readonly failure: 'connection' | 'queue' | 'refused' | 'account' | 'timeout' | 'interrupted' | 'unusable' | null; readonly httpStatus: number | null; readonly words: string | null })[]; readonly innerModels: readonly ({ readonly model: string; readonly inputTokens: number; readonly outputTokens: number; readonly chargeYuan: Yuan; readonly usage: { readonly inputTokens?: number | undefined; readonly cachedInputTokens?: number | undefined; readonly cacheWriteTokens?: number | undefined; readonly cacheWrite1hTokens?: number | undefined; readonly imageInputTokens?: number | undefined; readonly audioInputTokens?: number | undefined; readonly citationTokens?: number | undefined; readonly outputTokens?: number | undefined; readonly reasoningTokens?: number | undefined; readonly imageOutputTokens?: number | undefined; readonly audioOutputTokens?: number | undefined; readonly separateReasoningTokens?: number | undefined; readonly searchUnits?: number | undefined; readonly webSearches?: number | undefined; readonly webFetches?: number | undefined; readonly fileSearches?: number | undefined; readonly codeExecutions?: number | undefined; readonly containers?: number | undefined; readonly otherToolUses?: number | undefined; readonly serverToolUses?: number | undefined; readonly compactions?: number | undefined } | null; readonly pricedBy: PricedBy | null; readonly price: { readonly rule: 'base' | 'peak' | 'off_peak' } & { readonly [name: string]: Yuan | Prices } | null })[]; readonly refunds: readonly { readonly entryId: string; readonly amountYuan: Yuan; readonly at: Instant }[]; readonly resolution: { readonly action: 'charge' | 'count' | 'release'; readonly tokens?: number | undefined; readonly at: Instant } | null };

export type OwnCallInFlight = { readonly id: string; readonly accountId: string; readonly keyId: string; readonly keyName: string | null; readonly context: string; readonly operation: string | null; readonly model: string; readonly isStream: boolean | null; readonly status: 'in_flight'; readonly requestId: string | null; readonly clientAddress: string | null; readonly program: string | null; readonly endUser: string | null; readonly tags: readonly string[]; readonly heldYuan: Yuan | null; readonly heldTokens: number | null; readonly startedAt: Instant | null; readonly reservedAt: Instant };

export type OwnCreatedKey = { readonly id: string; readonly accountId: string; readonly name: string | null; readonly prefix: string; readonly createdAt: Instant; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null; readonly lastUsedAt: Instant | null; readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null; readonly dailyCalls: number | null; readonly concurrency: number | null; readonly modelBudgets: { readonly [name: string]: { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null } }; readonly allowedModels: readonly string[] | null; readonly allowedNetworks: readonly string[] | null; readonly scopes: readonly ('calls' | 'account')[]; readonly userId: string | null; readonly formerUserName: string | null; readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly modelLimits: { readonly [name: string]: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null } }; readonly key: string };

export type OwnInvoiceRequest = { readonly id: string; readonly month: string | null; readonly entryIds: readonly string[] | null; readonly amountYuan: Yuan; readonly buyer: Buyer; readonly state: 'open' | 'issued' | 'refused'; readonly requestedAt: Instant; readonly requestedBy: string; readonly requestedById: string | null; readonly closedAt: Instant | null; readonly invoiceNumber: string | null; readonly note: string | null };

export type OwnKey = { readonly id: string; readonly accountId: string; readonly name: string | null; readonly prefix: string; readonly createdAt: Instant; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null; readonly lastUsedAt: Instant | null; readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null; readonly dailyCalls: number | null; readonly concurrency: number | null; readonly modelBudgets: { readonly [name: string]: { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null } }; readonly allowedModels: readonly string[] | null; readonly allowedNetworks: readonly string[] | null; readonly scopes: readonly ('calls' | 'account')[]; readonly userId: string | null; readonly formerUserName: string | null; readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly modelLimits: { readonly [name: string]: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null } }; readonly used: { readonly dailySpendYuan: Yuan; readonly weeklySpendYuan: Yuan; readonly monthlySpendYuan: Yuan; readonly totalSpendYuan: Yuan; readonly dailyCalls: number } | null; readonly usedByModel: { readonly [name: string]: { readonly dailySpendYuan: Yuan; readonly weeklySpendYuan: Yuan; readonly monthlySpendYuan: Yuan; readonly totalSpendYuan: Yuan } } };

export type OwnLedgerEntry = { readonly id: string; readonly kind: 'top_up' | 'charge' | 'refund' | 'adjustment'; readonly amountYuan: Yuan; readonly balanceAfterYuan: Yuan; readonly callId: string | null; readonly reference: string | null; readonly createdAt: Instant };

export type OwnModel = { readonly id: string; readonly aliases: readonly string[]; readonly displayName: string; readonly operations: readonly string[]; readonly contextTokens: number | null; readonly outputTokens: number | null; readonly price: { readonly rule: 'base' | 'peak' | 'off_peak' } & { readonly [name: string]: Yuan | Prices }; readonly timeOfDay: { readonly timezone: string; readonly peakHours: readonly { readonly fromMinute: number; readonly toMinute: number }[]; readonly peak: { readonly rule: 'base' | 'peak' | 'off_peak' } & { readonly [name: string]: Yuan | Prices }; readonly offPeak: { readonly rule: 'base' | 'peak' | 'off_peak' } & { readonly [name: string]: Yuan | Prices } } | null; readonly isInPlan: boolean };

export type OwnRefusal = { readonly id: string; readonly at: Instant; readonly count: number; readonly accountId: string | null; readonly keyId: string | null; readonly keyName: string | null; readonly clientRequestId: string | null; readonly clientAddress: string | null; readonly method: string | null; readonly path: string | null; readonly operation: string | null; readonly model: string | null; readonly status: number | null; readonly code: string; readonly message: string | null; readonly param: string | null };

export type OwnReplacementKey = { readonly id: string; readonly accountId: string; readonly name: string | null; readonly prefix: string; readonly createdAt: Instant; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null; readonly lastUsedAt: Instant | null; readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null; readonly dailyCalls: number | null; readonly concurrency: number | null; readonly modelBudgets: { readonly [name: string]: { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null } }; readonly allowedModels: readonly string[] | null; readonly allowedNetworks: readonly string[] | null; readonly scopes: readonly ('calls' | 'account')[]; readonly userId: string | null; readonly formerUserName: string | null; readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly modelLimits: { readonly [name: string]: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null } }; readonly key: string; readonly replaces: { readonly id: string; readonly validUntil: Instant } };

export type OwnStatement = { readonly accountId: string; readonly accountName: string; readonly seller: Seller | null; readonly buyer: Buyer | null; readonly month: string; readonly timezone: string; readonly from: Instant; readonly to: Instant; readonly isOver: boolean; readonly openingYuan: Yuan; readonly closingYuan: Yuan; readonly kinds: readonly ({ readonly kind: 'top_up' | 'charge' | 'refund' | 'adjustment'; readonly entries: number; readonly amountYuan: Yuan })[]; readonly areEntriesCut: boolean; readonly completeUntil: Instant | null; readonly entries: readonly ({ readonly id: string; readonly kind: 'top_up' | 'charge' | 'refund' | 'adjustment'; readonly amountYuan: Yuan; readonly callId: string | null; readonly reference: string | null; readonly createdAt: Instant })[]; readonly models: readonly OwnUsageGroup[] };

export type OwnSubscription = { readonly id: string; readonly accountId: string; readonly planId: string; readonly planName: string | null; readonly status: 'active' | 'scheduled' | 'expired' | 'canceled'; readonly startsAt: Instant; readonly endsAt: Instant; readonly canceledAt: Instant | null; readonly createdAt: Instant };

export type OwnUsageGroup = { readonly accountId?: string | null | undefined; readonly accountName?: string | null | undefined; readonly keyId?: string | null | undefined; readonly keyName?: string | null | undefined; readonly keyPrefix?: string | null | undefined; readonly month?: string | null | undefined; readonly day?: string | null | undefined; readonly model?: string | null | undefined; readonly endUser?: string | null | undefined; readonly program?: string | null | undefined; readonly tag?: string | null | undefined; readonly status?: string | null | undefined; readonly context?: string | null | undefined; readonly calls: number; readonly chargeYuan: Yuan; readonly refundYuan: Yuan; readonly netChargeYuan: Yuan; readonly heldYuan: Yuan; readonly usage: { readonly [name: string]: number } };

export type OwnVoucherRedemption = { readonly id: string; readonly accountId: string; readonly codeEnd: string; readonly kind: 'value' | 'plan'; readonly amountYuan: Yuan | null; readonly planId: string | null; readonly redeemedAt: Instant; readonly entryId: string | null; readonly subscriptionId: string | null; readonly subscriptionEndsAt: Instant | null };

export type Plan = { readonly id: string; readonly name: string; readonly activeSubscriptions: number; readonly hasMoreSubscriptions: boolean; readonly fiveHourCalls: number; readonly weeklyCalls: number; readonly concurrency: number; readonly quotaTokens: number; readonly periodDays: number; readonly models: readonly string[]; readonly inputByteLimit: number; readonly outputTokenLimit: number };

export type PlanRemainder = { readonly accountId: string; readonly planId: string | null; readonly planName: string | null; readonly isUsable: boolean; readonly usableAgainAt: Instant | null; readonly message: string | null; readonly fiveHour: { readonly limit: number; readonly used: number; readonly remaining: number; readonly roomAt: Instant | null; readonly moreAt: Instant | null } | null; readonly weekly: { readonly limit: number; readonly used: number; readonly remaining: number; readonly startedAt: Instant; readonly resetAt: Instant } | null; readonly quota: { readonly limitTokens: number; readonly usedTokens: number; readonly remainingTokens: number; readonly startedAt: Instant; readonly resetAt: Instant } | null; readonly concurrency: { readonly limit: number; readonly inFlight: number } | null };

export type PostedEntry = { readonly entryId: string; readonly balanceYuan: Yuan };

export type PriceSource = { readonly source: { readonly address: string; readonly every: string; readonly usdCny: string; readonly marginPercent: string; readonly applyBelowPercent: number | null } | null; readonly lastRead: { readonly node: string; readonly startedAt: Instant; readonly endedAt: Instant | null; readonly outcome: 'unchanged' | 'draft' | 'applied' | 'changed' | 'failed' | null; readonly message: string | null; readonly revision: number | null } | null };

export type PriceSourceRead = { readonly outcome: 'unchanged' | 'draft' | 'applied' | 'changed' | 'failed'; readonly message: string | null; readonly revision: number | null; readonly changes: readonly CatalogChange[] | null; readonly examples: readonly ({ readonly model: string; readonly before: Yuan | null; readonly now: Yuan; readonly later: readonly { readonly from: string; readonly yuan: Yuan }[]; readonly marginPercentBefore: string | null; readonly marginPercentNow: string | null })[]; readonly notFollowed: readonly { readonly model: string; readonly why: string }[] };

export type PricedBy = { readonly serviceTier?: string | undefined; readonly speed?: string | undefined; readonly inferenceGeo?: string | undefined; readonly above?: string | undefined; readonly thinking?: true | undefined; readonly outputAbove?: string | undefined; readonly steps?: readonly ({ readonly inputTokens?: number | undefined; readonly cachedInputTokens?: number | undefined; readonly cacheWriteTokens?: number | undefined; readonly cacheWrite1hTokens?: number | undefined; readonly imageInputTokens?: number | undefined; readonly audioInputTokens?: number | undefined; readonly citationTokens?: number | undefined; readonly outputTokens?: number | undefined; readonly reasoningTokens?: number | undefined; readonly imageOutputTokens?: number | undefined; readonly audioOutputTokens?: number | undefined; readonly separateReasoningTokens?: number | undefined; readonly searchUnits?: number | undefined; readonly webSearches?: number | undefined; readonly webFetches?: number | undefined; readonly fileSearches?: number | undefined; readonly codeExecutions?: number | undefined; readonly containers?: number | undefined; readonly otherToolUses?: number | undefined; readonly serverToolUses?: number | undefined; readonly compactions?: number | undefined; readonly above?: string | undefined; readonly thinking?: true | undefined; readonly outputAbove?: string | undefined; readonly runs: number })[] | undefined; readonly images?: readonly { readonly count: number; readonly priceYuan: Yuan }[] | undefined };

export type Prices = { readonly [name: string]: Yuan | Prices };

export type ProviderLimit = { readonly of: 'provider' | 'route' | 'credential'; readonly provider: string; readonly model: string | null; readonly providerModel: string | null; readonly credential: string | null; readonly rates: readonly ({ readonly kind: 'requestsPerMinute' | 'tokensPerMinute' | 'concurrentCalls'; readonly max: number; readonly used: number; readonly freeAt: Instant | null })[]; readonly budgets: readonly ({ readonly kind: 'day' | 'month'; readonly maxYuan: Yuan; readonly usedYuan: Yuan; readonly endsAt: Instant | null })[] };

export type ProviderModels = { readonly data: readonly ({ readonly id: string; readonly displayName: string | null; readonly contextLength: number | null; readonly maxOutputTokens: number | null })[]; readonly hasMore: boolean; readonly message: string | null };

export type ProviderPreset = { readonly name: string; readonly title: string; readonly keyVariable: string; readonly notes: readonly string[]; readonly providers: readonly ({ readonly name: string; readonly protocol: 'chat' | 'messages'; readonly baseUrl: string; readonly vendor: string | null; readonly auth: 'bearer' | 'x-api-key' | 'api-key' | null; readonly missingUsage: 'estimate' | null; readonly allows: readonly string[]; readonly dialect: { readonly reasoning?: 'effort' | 'thinking' | 'enable_thinking' | 'openrouter' | 'template' | 'none' | undefined; readonly efforts?: readonly ('none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max')[] | undefined; readonly replay?: 'none' | 'reasoning_content' | 'reasoning' | 'reasoning_details' | undefined; readonly thinking?: 'adaptive' | 'budget' | 'none' | undefined; readonly promptCache?: 'auto' | 'off' | undefined; readonly laterSystem?: 'user' | 'system' | undefined; readonly toolMedia?: 'user' | 'tool' | undefined; readonly maxTokens?: 'max_tokens' | 'max_completion_tokens' | undefined; readonly takes?: readonly string[] | undefined; readonly drops?: readonly string[] | undefined } | null })[] };

export type ProviderTest = { readonly provider: string; readonly operation: string; readonly model: string | null; readonly providerModel: string; readonly priceRule: string | null; readonly results: readonly ({ readonly credential: string; readonly status: 'succeeded' | 'failed'; readonly httpStatus: number | null; readonly durationMs: number; readonly firstByteMs: number | null; readonly message: string | null; readonly usage: { readonly [name: string]: number } | null; readonly chargeYuan: Yuan | null })[] };

export type Receipt = { readonly number: string; readonly accountId: string; readonly accountName: string; readonly seller: Seller | null; readonly buyer: Buyer | null; readonly amountYuan: Yuan; readonly reference: string | null; readonly createdAt: Instant; readonly timezone: string };

export type Refund = { readonly entryId: string; readonly callId: string; readonly amountYuan: Yuan; readonly refundedYuan: Yuan; readonly chargeYuan: Yuan; readonly balanceYuan: Yuan };

export type Refusal = { readonly id: string; readonly at: Instant; readonly count: number; readonly accountId: string | null; readonly accountName: string | null; readonly keyId: string | null; readonly keyName: string | null; readonly clientRequestId: string | null; readonly clientAddress: string | null; readonly method: string | null; readonly path: string | null; readonly operation: string | null; readonly model: string | null; readonly status: number | null; readonly code: string; readonly message: string | null; readonly param: string | null };

export type ReplacementKey = { readonly id: string; readonly accountId: string; readonly name: string | null; readonly prefix: string; readonly createdAt: Instant; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null; readonly lastUsedAt: Instant | null; readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null; readonly dailyCalls: number | null; readonly concurrency: number | null; readonly modelBudgets: { readonly [name: string]: { readonly dailySpendCapYuan: Yuan | null; readonly weeklySpendCapYuan: Yuan | null; readonly monthlySpendCapYuan: Yuan | null; readonly totalSpendCapYuan: Yuan | null } }; readonly allowedModels: readonly string[] | null; readonly allowedNetworks: readonly string[] | null; readonly scopes: readonly ('calls' | 'account')[]; readonly userId: string | null; readonly formerUserName: string | null; readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null; readonly modelLimits: { readonly [name: string]: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null } }; readonly key: string; readonly replaces: { readonly id: string; readonly validUntil: Instant } };

export type Revision = { readonly number: number; readonly source: 'push' | 'rollback' | 'feed' | 'file'; readonly base: number | null; readonly reason: string | null; readonly createdBy: string; readonly createdById: string | null; readonly createdAt: Instant; readonly inForceAt: Instant | null; readonly appliedBy: string | null; readonly appliedById: string | null; readonly canceledAt: Instant | null; readonly canceledBy: string | null; readonly canceledById: string | null; readonly text: string; readonly difference: readonly CatalogChange[] | null; readonly examples: readonly ({ readonly model: string; readonly before: Yuan | null; readonly now: Yuan; readonly later: readonly { readonly from: string; readonly yuan: Yuan }[]; readonly marginPercentBefore: string | null; readonly marginPercentNow: string | null })[] };

export type RevisionSummary = { readonly number: number; readonly source: 'push' | 'rollback' | 'feed' | 'file'; readonly base: number | null; readonly reason: string | null; readonly createdBy: string; readonly createdById: string | null; readonly createdAt: Instant; readonly inForceAt: Instant | null; readonly appliedBy: string | null; readonly appliedById: string | null; readonly canceledAt: Instant | null; readonly canceledBy: string | null; readonly canceledById: string | null };

export type Route = { readonly model: string; readonly provider: string; readonly providerModel: string; readonly priority: number; readonly weight: number; readonly translates: readonly string[]; readonly state: 'off' | 'closed' | 'open' | 'probing'; readonly drained: Drain | null; readonly failuresInARow: number; readonly lastError: string | null; readonly lastErrorAt: Instant | null; readonly triedAgainAt: Instant | null; readonly accountBreakers: readonly ({ readonly accountId: string; readonly state: 'closed' | 'open' | 'probing'; readonly failuresInARow: number; readonly triedAgainAt: Instant | null })[]; readonly credentials: readonly ({ readonly name: string; readonly file: string | null; readonly command: string | null; readonly expiresAt: Instant | null; readonly state: 'active' | 'resting' | 'refused' | 'missing'; readonly status: number | null; readonly triedAgainAt: Instant | null; readonly lastUsedAt: Instant | null; readonly vendorLimits: readonly ({ readonly of: 'requests' | 'tokens' | 'input-tokens' | 'output-tokens'; readonly max: number | null; readonly remaining: number; readonly resetAt: Instant | null })[] })[] };

export type SealedSecret = { readonly name: string; readonly status: 'current_key' | 'earlier_key' | 'unreadable'; readonly providers: readonly string[]; readonly createdAt: Instant; readonly changedAt: Instant; readonly by: string; readonly byId: string | null };

export type Seller = { readonly name: string; readonly taxNumber: string | null; readonly address: string | null; readonly logo: string | null };

export type Session = { readonly id: string; readonly isThisOne: boolean; readonly createdAt: Instant; readonly lastSeenAt: Instant; readonly expiresAt: Instant; readonly clientAddress: string | null; readonly userAgent: string | null };

export type ShownAnnouncement = { readonly id: string; readonly level: 'info' | 'warning'; readonly textEn: string | null; readonly textZh: string | null };

export type Statement = { readonly accountId: string; readonly accountName: string; readonly seller: Seller | null; readonly buyer: Buyer | null; readonly month: string; readonly timezone: string; readonly from: Instant; readonly to: Instant; readonly isOver: boolean; readonly openingYuan: Yuan; readonly closingYuan: Yuan; readonly kinds: readonly ({ readonly kind: 'top_up' | 'charge' | 'refund' | 'adjustment'; readonly entries: number; readonly amountYuan: Yuan })[]; readonly entries: readonly ({ readonly id: string; readonly kind: 'top_up' | 'charge' | 'refund' | 'adjustment'; readonly amountYuan: Yuan; readonly callId: string | null; readonly memo: string | null; readonly reference: string | null; readonly createdAt: Instant })[]; readonly areEntriesCut: boolean; readonly models: readonly UsageGroup[]; readonly completeUntil: Instant | null };

export type Subscription = { readonly id: string; readonly accountId: string; readonly planId: string; readonly planName: string | null; readonly status: 'active' | 'scheduled' | 'expired' | 'canceled'; readonly startsAt: Instant; readonly endsAt: Instant; readonly canceledAt: Instant | null; readonly createdAt: Instant };

export type UsageGroup = { readonly accountId?: string | null | undefined; readonly keyId?: string | null | undefined; readonly groupId?: string | null | undefined; readonly month?: string | null | undefined; readonly day?: string | null | undefined; readonly model?: string | null | undefined; readonly provider?: string | null | undefined; readonly status?: string | null | undefined; readonly context?: string | null | undefined; readonly endUser?: string | null | undefined; readonly program?: string | null | undefined; readonly tag?: string | null | undefined; readonly accountName?: string | null | undefined; readonly keyName?: string | null | undefined; readonly keyPrefix?: string | null | undefined; readonly calls: number; readonly chargeYuan: Yuan; readonly refundYuan: Yuan; readonly netChargeYuan: Yuan; readonly planRevenueYuan: Yuan | null; readonly costYuan: Yuan; readonly planCostYuan: Yuan; readonly marginYuan: Yuan | null; readonly balanceMarginYuan: Yuan | null; readonly planMarginYuan: Yuan | null; readonly marginBasisPoints: number | null; readonly balanceMarginBasisPoints: number | null; readonly planMarginBasisPoints: number | null; readonly costedNetChargeYuan: Yuan; readonly costedMarginYuan: Yuan; readonly costedMarginBasisPoints: number | null; readonly callsWithoutCost: number; readonly heldYuan: Yuan; readonly usage: { readonly [name: string]: number } };

export type UsedBudget = { readonly scope: 'key' | 'member' | 'endUser' | 'tag'; readonly ownerId: string; readonly name: string | null; readonly prefix: string | null; readonly model: string | null; readonly period: 'day' | 'week' | 'month' | 'total'; readonly usedYuan: Yuan; readonly limitYuan: Yuan; readonly percent: number; readonly resetsAt: Instant | null };

export type User = { readonly id: string; readonly email: string | null; readonly name: string; readonly operatorRole: 'operator' | 'auditor' | null; readonly status: 'active' | 'suspended'; readonly hasPassword: boolean; readonly memberships: readonly ({ readonly accountId: string; readonly accountName: string; readonly role: 'owner' | 'member' })[]; readonly unconfirmedTokenId: string | null; readonly createdAt: Instant; readonly lastSignInAt: Instant | null };

export type VoucherBatch = { readonly id: string; readonly name: string; readonly kind: 'value' | 'plan'; readonly amountYuan: Yuan | null; readonly planId: string | null; readonly count: number; readonly redeemedCount: number; readonly expiresAt: Instant | null; readonly createdAt: Instant; readonly createdBy: string; readonly createdById: string | null; readonly canceledAt: Instant | null };

export type VoucherRedemption = { readonly id: string; readonly accountId: string; readonly codeEnd: string; readonly kind: 'value' | 'plan'; readonly amountYuan: Yuan | null; readonly planId: string | null; readonly redeemedAt: Instant; readonly entryId: string | null; readonly subscriptionId: string | null; readonly subscriptionEndsAt: Instant | null; readonly accountName: string; readonly batchId: string; readonly redeemedBy: string; readonly redeemedById: string | null };

export type WebhookDelivery = { readonly noticeId: string; readonly event: 'balance.low' | 'budget.nearly_used' | 'plan.nearly_used' | 'key.expiring' | 'invoice.closed' | 'route.down' | 'provider.refused_account' | 'provider.budget_nearly_used' | 'catalog.failed' | 'catalog.recovered' | 'prices.changed' | 'prices.failed' | 'invoice.requested' | 'webhook.test'; readonly at: Instant; readonly status: 'pending' | 'delivered' | 'failed'; readonly attempts: number; readonly nextAttemptAt: Instant | null; readonly lastAttemptAt: Instant | null; readonly lastStatus: number | null; readonly lastError: string | null };

export type WebhookEndpoint = { readonly id: string; readonly accountId: string | null; readonly url: string; readonly form: 'faregate' | 'slack' | 'feishu' | 'dingtalk' | 'wecom' | 'telegram'; readonly language: 'en' | 'zh' | null; readonly isSigned: boolean; readonly events: readonly ('balance.low' | 'budget.nearly_used' | 'plan.nearly_used' | 'key.expiring' | 'invoice.closed' | 'route.down' | 'provider.refused_account' | 'provider.budget_nearly_used' | 'catalog.failed' | 'catalog.recovered' | 'prices.changed' | 'prices.failed' | 'invoice.requested')[] | null; readonly status: 'active' | 'disabled'; readonly statusReason: string | null; readonly failingSince: Instant | null; readonly createdAt: Instant };

export type WhoAmI = { readonly sessionId: string; readonly user: { readonly id: string; readonly email: string | null; readonly name: string; readonly hasPassword: boolean }; readonly operatorRole: 'operator' | 'auditor' | null; readonly memberships: readonly ({ readonly accountId: string; readonly accountName: string; readonly role: 'owner' | 'member' })[]; readonly billingTimezone: string; readonly announcements: readonly ShownAnnouncement[] };

export type Yuan = string;

export interface Endpoints {
  /** Read the account: its status and, for owners, balance, reserved amount, spend today and caps. */
  'GET /account/v1/account': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: AccountOfOwner | AccountOfMember;
  };
  /** Change the name, the e-mail address, the account’s own daily cap, the buyer’s details, whether members see the balance, or what is recorded of callers. */
  'PATCH /account/v1/account': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: { readonly name?: string | undefined; readonly email?: string | undefined; readonly ownDailySpendCapYuan?: string | null | undefined; readonly membersSeeBalance?: boolean | undefined; readonly recording?: { readonly clientAddress?: boolean | undefined; readonly program?: boolean | undefined; readonly endUser?: boolean | undefined } | undefined; readonly buyer?: { readonly companyName: string; readonly taxNumber?: string | null | undefined; readonly address?: string | null | undefined; readonly email?: string | null | undefined } | null | undefined };
    response: AccountOfOwner;
  };
  /** Read the limits per minute that apply to the account. */
  'GET /account/v1/limits': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: LimitsInForce;
  };
  /** List the keys of the account; members see their own. */
  'GET /account/v1/keys': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly status?: 'active' | 'revoked' | 'expired' | undefined; readonly userId?: string | undefined };
    body: null;
    response: { readonly data: readonly OwnKey[]; readonly nextCursor: string | null };
  };
  /** Create an API key; its text is shown only once. */
  'POST /account/v1/keys': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: { readonly name?: string | undefined; readonly expiresAt?: string | null | undefined; readonly scopes?: readonly ('calls' | 'account')[] | undefined; readonly userId?: string | null | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined; readonly dailyCalls?: number | null | undefined; readonly concurrency?: number | null | undefined; readonly modelBudgets?: { readonly [name: string]: { readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined } | null } | undefined; readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined; readonly modelLimits?: { readonly [name: string]: { readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined } | null } | undefined; readonly allowedModels?: readonly string[] | null | undefined; readonly allowedNetworks?: readonly string[] | null | undefined };
    response: OwnCreatedKey;
  };
  /** Rename a key, or set its limits. */
  'PATCH /account/v1/keys/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: { readonly name?: string | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined; readonly dailyCalls?: number | null | undefined; readonly concurrency?: number | null | undefined; readonly modelBudgets?: { readonly [name: string]: { readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined } | null } | undefined; readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined; readonly modelLimits?: { readonly [name: string]: { readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined } | null } | undefined; readonly allowedModels?: readonly string[] | null | undefined; readonly allowedNetworks?: readonly string[] | null | undefined };
    response: OwnKey;
  };
  /** Revoke a key. */
  'DELETE /account/v1/keys/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: null;
    response: null;
  };
  /** Replace a key with a new one with the same rights; the old key can stay valid for a chosen time. */
  'POST /account/v1/keys/{id}/replacement': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: { readonly keepOldSeconds?: number | undefined; readonly expiresAt?: string | null | undefined };
    response: OwnReplacementKey;
  };
  /** List the budgets that are nearly used, the most used first; members see those of themselves and their keys. */
  'GET /account/v1/used-budgets': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: { readonly data: readonly UsedBudget[] };
  };
  /** List the budgets of end users and tags with their usage. */
  'GET /account/v1/caller-budgets': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: { readonly data: readonly CallerBudget[] };
  };
  /** Set the budget of an end user or a tag, or the default budget of all. */
  'PATCH /account/v1/caller-budgets': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: { readonly kind: 'endUser' | 'tag'; readonly value?: string | null | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined };
    response: CallerBudget;
  };
  /** List calls, newest first; status=in_flight lists calls in flight, requestId everything about one request; also as CSV. */
  'GET /account/v1/calls': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly keyId?: string | undefined; readonly userId?: string | undefined; readonly model?: string | undefined; readonly status?: 'succeeded' | 'failed' | 'aborted' | 'unresolved' | 'resolved' | 'in_flight' | undefined; readonly clientAddress?: string | undefined; readonly program?: string | undefined; readonly endUser?: string | undefined; readonly tag?: string | undefined; readonly requestId?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined };
    body: null;
    response: { readonly data: readonly (OwnCall | OwnCallInFlight)[]; readonly nextCursor: string | null } | { readonly data: readonly OwnCall[]; readonly refusals: readonly OwnRefusal[]; readonly nextCursor: null };
  };
  /** Read a call. */
  'GET /account/v1/calls/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: null;
    response: OwnCall;
  };
  /** List refused requests, newest first; also as CSV. */
  'GET /account/v1/refusals': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly keyId?: string | undefined; readonly userId?: string | undefined; readonly model?: string | undefined; readonly code?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined };
    body: null;
    response: { readonly data: readonly OwnRefusal[]; readonly nextCursor: string | null };
  };
  /** Sums of usage by day, month, model, key, status, context, end user, program or tag; members see their own keys; also as CSV. */
  'GET /account/v1/usage': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly groupBy?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined; readonly keyId?: string | undefined; readonly model?: string | undefined; readonly status?: 'succeeded' | 'failed' | 'aborted' | 'unresolved' | 'resolved' | undefined; readonly context?: 'balance' | 'coding' | undefined };
    body: null;
    response: { readonly data: readonly OwnUsageGroup[]; readonly nextCursor: string | null; readonly completeUntil: Instant | null; readonly timezone: string };
  };
  /** List the ledger entries of the account, newest first; also as CSV. */
  'GET /account/v1/ledger': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly kind?: 'top_up' | 'charge' | 'refund' | 'adjustment' | undefined; readonly from?: string | undefined; readonly to?: string | undefined };
    body: null;
    response: { readonly data: readonly OwnLedgerEntry[]; readonly nextCursor: string | null };
  };
  /** Read the receipt of a top-up, by the id of its ledger entry. */
  'GET /account/v1/receipts/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: null;
    response: Receipt;
  };
  /** Read the account’s statement for a month in the billing time zone; also as CSV. */
  'GET /account/v1/statement': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly month: string };
    body: null;
    response: OwnStatement;
  };
  /** List the account’s requests for invoices, newest first. */
  'GET /account/v1/invoice-requests': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly state?: 'open' | 'issued' | 'refused' | undefined };
    body: null;
    response: { readonly data: readonly OwnInvoiceRequest[]; readonly nextCursor: string | null };
  };
  /** Request an invoice for a month that is over, or for top-ups; each can be invoiced once. */
  'POST /account/v1/invoice-requests': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: { readonly month?: string | undefined; readonly entryIds?: readonly string[] | undefined };
    response: OwnInvoiceRequest;
  };
  /** Read what remains of the Coding Plan of the account: windows, quota, concurrency. */
  'GET /account/v1/plan': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: PlanRemainder;
  };
  /** List the subscriptions of the account, newest first. */
  'GET /account/v1/subscriptions': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined };
    body: null;
    response: { readonly data: readonly OwnSubscription[]; readonly nextCursor: string | null };
  };
  /** List the available plans. */
  'GET /account/v1/plans': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: { readonly data: readonly OfferedPlan[] };
  };
  /** List the models that may be called, with list prices and the account’s prices. */
  'GET /account/v1/models': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: { readonly data: readonly OwnModel[]; readonly priceFactorBasisPoints: number };
  };
  /** Redeem a voucher for the account; a repeat changes nothing, even without an Idempotency-Key. */
  'POST /account/v1/vouchers': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: { readonly code: string };
    response: OwnVoucherRedemption;
  };
  /** List the members of the account with their limits and usage. */
  'GET /account/v1/members': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined };
    body: null;
    response: { readonly data: readonly Member[]; readonly nextCursor: string | null };
  };
  /** Read the limits and usage of the caller, or of the user who owns the key. */
  'GET /account/v1/member-limits': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: MemberLimits;
  };
  /** Change a member’s role or limits. */
  'PATCH /account/v1/members/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: { readonly role?: 'owner' | 'member' | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined; readonly dailyCalls?: number | null | undefined; readonly concurrency?: number | null | undefined; readonly modelBudgets?: { readonly [name: string]: { readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined } | null } | undefined; readonly allowedModels?: readonly string[] | null | undefined };
    response: Member;
  };
  /** Remove a member from the account; the keys are kept, revoked, or transferred to another member. */
  'DELETE /account/v1/members/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined; readonly keys?: 'keep' | 'revoke' | undefined; readonly keysTo?: string | undefined };
    body: null;
    response: null;
  };
  /** List open invitations. */
  'GET /account/v1/invitations': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: { readonly data: readonly Invitation[] };
  };
  /** Invite a person to the account; the link is shown only once. */
  'POST /account/v1/invitations': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: { readonly email?: string | null | undefined; readonly role?: 'owner' | 'member' | undefined };
    response: { readonly id: string; readonly email: string | null; readonly role: 'owner' | 'member'; readonly createdBy: string; readonly createdById: string | null; readonly createdAt: Instant; readonly expiresAt: Instant; readonly link: string; readonly linkKind: 'first_sign_in' | 'invitation' | 'reset'; readonly linkExpiresAt: Instant; readonly linkMailedTo: string | null; readonly linkHint: string | null };
  };
  /** Revoke an invitation. */
  'DELETE /account/v1/invitations/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: null;
    response: null;
  };
  /** List the webhook endpoints of the account, newest first. */
  'GET /account/v1/webhooks': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined };
    body: null;
    response: { readonly data: readonly WebhookEndpoint[]; readonly nextCursor: string | null };
  };
  /** Create a webhook endpoint; the response shows its secret once. */
  'POST /account/v1/webhooks': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: { readonly url: string; readonly form?: 'faregate' | 'slack' | 'feishu' | 'dingtalk' | 'wecom' | 'telegram' | undefined; readonly secret?: string | null | undefined; readonly language?: 'en' | 'zh' | null | undefined; readonly events?: readonly ('balance.low' | 'budget.nearly_used' | 'plan.nearly_used' | 'key.expiring' | 'invoice.closed')[] | null | undefined };
    response: { readonly id: string; readonly accountId: string | null; readonly url: string; readonly form: 'faregate' | 'slack' | 'feishu' | 'dingtalk' | 'wecom' | 'telegram'; readonly language: 'en' | 'zh' | null; readonly isSigned: boolean; readonly events: readonly ('balance.low' | 'budget.nearly_used' | 'plan.nearly_used' | 'key.expiring' | 'invoice.closed' | 'route.down' | 'provider.refused_account' | 'provider.budget_nearly_used' | 'catalog.failed' | 'catalog.recovered' | 'prices.changed' | 'prices.failed' | 'invoice.requested')[] | null; readonly status: 'active' | 'disabled'; readonly statusReason: string | null; readonly failingSince: Instant | null; readonly createdAt: Instant; readonly secret: string | null };
  };
  /** Read a webhook endpoint. */
  'GET /account/v1/webhooks/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: null;
    response: WebhookEndpoint;
  };
  /** Change, disable or enable a webhook endpoint. */
  'PATCH /account/v1/webhooks/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: { readonly url?: string | undefined; readonly secret?: string | null | undefined; readonly language?: 'en' | 'zh' | null | undefined; readonly status?: 'active' | 'disabled' | undefined; readonly events?: readonly ('balance.low' | 'budget.nearly_used' | 'plan.nearly_used' | 'key.expiring' | 'invoice.closed')[] | null | undefined };
    response: WebhookEndpoint;
  };
  /** Delete a webhook endpoint and its pending deliveries. */
  'DELETE /account/v1/webhooks/{id}': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: null;
    response: null;
  };
  /** Send a test notice to a webhook endpoint. */
  'POST /account/v1/webhooks/{id}/test': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: null;
    response: { readonly noticeId: string };
  };
  /** List past and pending deliveries of a webhook endpoint, newest first. */
  'GET /account/v1/webhooks/{id}/deliveries': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined };
    body: null;
    response: { readonly data: readonly WebhookDelivery[]; readonly nextCursor: string | null };
  };
  /** Resend a notice to a webhook endpoint. */
  'POST /account/v1/webhooks/{id}/redeliver': {
    path: { readonly id: string };
    query: { readonly accountId?: string | undefined };
    body: { readonly noticeId: string };
    response: { readonly noticeId: string };
  };
  /** Read the low-balance threshold. */
  'GET /account/v1/low-balance': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: null;
    response: { readonly accountId: string; readonly thresholdYuan: Yuan | null; readonly defaultThresholdYuan: Yuan | null; readonly hasMail: boolean };
  };
  /** Set the low-balance threshold; null: the gateway’s default. */
  'PUT /account/v1/low-balance': {
    path: Record<never, never>;
    query: { readonly accountId?: string | undefined };
    body: { readonly thresholdYuan: string | null };
    response: { readonly accountId: string; readonly thresholdYuan: Yuan | null; readonly defaultThresholdYuan: Yuan | null; readonly hasMail: boolean };
  };
  /** Sign in with an e-mail address or name and a password. */
  'POST /account/v1/sessions': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly user: string; readonly password: string };
    response: WhoAmI;
  };
  /** List the signed-in user’s sessions. */
  'GET /account/v1/sessions': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly Session[] };
  };
  /** End all sessions, or all other sessions. */
  'DELETE /account/v1/sessions': {
    path: Record<never, never>;
    query: { readonly keepThis?: 'true' | 'false' | undefined };
    body: null;
    response: null;
  };
  /** Read the signed-in user and its rights. */
  'GET /account/v1/session': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: WhoAmI;
  };
  /** Sign out. */
  'DELETE /account/v1/session': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** End one of the signed-in user’s sessions. */
  'DELETE /account/v1/sessions/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** Change your password; all other sessions end. */
  'PUT /account/v1/password': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly currentPassword: string; readonly password: string };
    response: null;
  };
  /** Change your name or e-mail address. */
  'PATCH /account/v1/user': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly name?: string | undefined; readonly email?: string | undefined; readonly currentPassword?: string | undefined };
    response: User;
  };
  /** Read what a one-time link is for. */
  'POST /account/v1/links/look': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly token: string };
    response: LinkView;
  };
  /** Use a one-time link: set a password or accept an invitation, and sign in. */
  'POST /account/v1/links/use': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly token: string; readonly name?: string | undefined; readonly password?: string | undefined };
    response: WhoAmI;
  };
  /** Whether people who forgot their password can get a link by mail. */
  'GET /account/v1/password-resets': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly isAvailable: boolean };
  };
  /** Ask for a link by mail to choose a new password; the response is the same whether or not such a user exists. */
  'POST /account/v1/password-resets': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly user: string };
    response: null;
  };
  /** List the OpenID providers at which people can sign in, and the announcements for everyone. */
  'GET /account/v1/oidc': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly { readonly name: string; readonly displayName: string }[]; readonly announcements: readonly ShownAnnouncement[] };
  };
  /** Begin a sign-in at an OpenID provider, optionally with a one-time link or to add the identity to the signed-in user. */
  'POST /account/v1/oidc/{id}/flows': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly token?: string | undefined; readonly attach?: boolean | undefined; readonly currentPassword?: string | undefined; readonly again?: boolean | undefined; readonly returnTo?: string | undefined };
    response: { readonly url: string; readonly expiresAt: Instant };
  };
  /** List the signed-in user’s identities at OpenID providers. */
  'GET /account/v1/identities': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly Identity[] };
  };
  /** Remove one of the signed-in user’s identities. */
  'DELETE /account/v1/identities/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** Create an account, with a first top-up if it has a balance. */
  'POST /admin/v1/accounts': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly name: string; readonly email?: string | null | undefined; readonly verified?: boolean | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly balanceYuan?: string | null | undefined; readonly groupId?: string | null | undefined };
    response: Account;
  };
  /** List and search accounts. */
  'GET /admin/v1/accounts': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly search?: string | undefined; readonly name?: string | undefined; readonly group?: string | undefined };
    body: null;
    response: { readonly data: readonly Account[]; readonly nextCursor: string | null };
  };
  /** Read an account. */
  'GET /admin/v1/accounts/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: Account;
  };
  /** Change an account. */
  'PATCH /admin/v1/accounts/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly name?: string | undefined; readonly email?: string | undefined; readonly verified?: boolean | undefined; readonly status?: 'active' | 'suspended' | undefined; readonly statusReason?: string | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly priceFactorBasisPoints?: number | undefined; readonly membersSeeBalance?: boolean | undefined; readonly recording?: { readonly clientAddress?: boolean | undefined; readonly program?: boolean | undefined; readonly endUser?: boolean | undefined } | undefined; readonly groupId?: string | null | undefined; readonly allowedModels?: readonly string[] | null | undefined; readonly buyer?: { readonly companyName: string; readonly taxNumber?: string | null | undefined; readonly address?: string | null | undefined; readonly email?: string | null | undefined } | null | undefined; readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined; readonly modelLimits?: { readonly [name: string]: { readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined } | null } | undefined };
    response: Account;
  };
  /** Create an API key; its text is shown only once. */
  'POST /admin/v1/accounts/{id}/keys': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly name?: string | undefined; readonly expiresAt?: string | null | undefined; readonly scopes?: readonly ('calls' | 'account')[] | undefined; readonly userId?: string | null | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined; readonly dailyCalls?: number | null | undefined; readonly concurrency?: number | null | undefined; readonly modelBudgets?: { readonly [name: string]: { readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined } | null } | undefined; readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined; readonly modelLimits?: { readonly [name: string]: { readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined } | null } | undefined; readonly allowedModels?: readonly string[] | null | undefined; readonly allowedNetworks?: readonly string[] | null | undefined };
    response: CreatedKey;
  };
  /** List the keys of an account. */
  'GET /admin/v1/accounts/{id}/keys': {
    path: { readonly id: string };
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly status?: 'active' | 'revoked' | 'expired' | undefined; readonly userId?: string | undefined };
    body: null;
    response: { readonly data: readonly Key[]; readonly nextCursor: string | null };
  };
  /** Rename a key, or set its limits: budgets, daily calls, concurrency, requests and tokens per minute, models, client networks. */
  'PATCH /admin/v1/keys/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly name?: string | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined; readonly dailyCalls?: number | null | undefined; readonly concurrency?: number | null | undefined; readonly modelBudgets?: { readonly [name: string]: { readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined } | null } | undefined; readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined; readonly modelLimits?: { readonly [name: string]: { readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined } | null } | undefined; readonly allowedModels?: readonly string[] | null | undefined; readonly allowedNetworks?: readonly string[] | null | undefined };
    response: Key;
  };
  /** Revoke a key. */
  'DELETE /admin/v1/keys/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** Replace a key with a new one with the same rights; the old key can stay valid for a chosen time. */
  'POST /admin/v1/keys/{id}/replacement': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly keepOldSeconds?: number | undefined; readonly expiresAt?: string | null | undefined };
    response: ReplacementKey;
  };
  /** Find a key and its owner by the whole key, by its prefix or by its id. */
  'POST /admin/v1/keys/search': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly key?: string | undefined; readonly prefix?: string | undefined; readonly id?: string | undefined; readonly limit?: number | undefined; readonly cursor?: string | undefined };
    response: { readonly data: readonly FoundKey[]; readonly nextCursor: string | null };
  };
  /** Import a key created by another program, by its SHA-256; repeats change nothing. */
  'POST /admin/v1/accounts/{id}/imported-keys': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly name?: string | undefined; readonly expiresAt?: string | null | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined; readonly dailyCalls?: number | null | undefined; readonly concurrency?: number | null | undefined; readonly modelBudgets?: { readonly [name: string]: { readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined } | null } | undefined; readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined; readonly modelLimits?: { readonly [name: string]: { readonly requestsPerMinute?: number | null | undefined; readonly tokensPerMinute?: number | null | undefined } | null } | undefined; readonly allowedModels?: readonly string[] | null | undefined; readonly allowedNetworks?: readonly string[] | null | undefined; readonly sha256: string; readonly prefix: string; readonly isRevoked?: boolean | undefined };
    response: ImportedKey;
  };
  /** Add money to a balance. */
  'POST /admin/v1/accounts/{id}/top-ups': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly amountYuan: string; readonly memo?: string | null | undefined; readonly reference?: string | null | undefined };
    response: PostedEntry;
  };
  /** Correct a balance, up or down. */
  'POST /admin/v1/accounts/{id}/adjustments': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly amountYuan: string; readonly memo: string };
    response: PostedEntry;
  };
  /** List the ledger entries of an account, newest first; also as CSV. */
  'GET /admin/v1/accounts/{id}/ledger': {
    path: { readonly id: string };
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly kind?: 'top_up' | 'charge' | 'refund' | 'adjustment' | undefined; readonly from?: string | undefined; readonly to?: string | undefined };
    body: null;
    response: { readonly data: readonly LedgerEntry[]; readonly nextCursor: string | null };
  };
  /** Read the receipt of a top-up, by the id of its ledger entry. */
  'GET /admin/v1/receipts/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: Receipt;
  };
  /** List requests for invoices, newest first. */
  'GET /admin/v1/invoice-requests': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly state?: 'open' | 'issued' | 'refused' | undefined; readonly accountId?: string | undefined };
    body: null;
    response: { readonly data: readonly InvoiceRequest[]; readonly nextCursor: string | null };
  };
  /** Close a request for an invoice with the number of the issued invoice. */
  'POST /admin/v1/invoice-requests/{id}/issue': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly invoiceNumber: string; readonly note?: string | null | undefined };
    response: InvoiceRequest;
  };
  /** Refuse a request for an invoice; the account sees the reason and may request again. */
  'POST /admin/v1/invoice-requests/{id}/refuse': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly note: string };
    response: InvoiceRequest;
  };
  /** List calls, newest first; status=in_flight lists calls in flight on all nodes; also as CSV. */
  'GET /admin/v1/calls': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly accountId?: string | undefined; readonly keyId?: string | undefined; readonly userId?: string | undefined; readonly model?: string | undefined; readonly status?: 'succeeded' | 'failed' | 'aborted' | 'unresolved' | 'resolved' | 'in_flight' | undefined; readonly clientAddress?: string | undefined; readonly program?: string | undefined; readonly endUser?: string | undefined; readonly tag?: string | undefined; readonly requestId?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined };
    body: null;
    response: { readonly data: readonly (Call | CallInFlight)[]; readonly nextCursor: string | null } | { readonly data: readonly Call[]; readonly refusals: readonly Refusal[]; readonly nextCursor: null };
  };
  /** Count the calls of the last hour by the minute in which they started. */
  'GET /admin/v1/calls/minutes': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly { readonly minute: Instant; readonly calls: number }[] };
  };
  /** Read a call. */
  'GET /admin/v1/calls/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: Call;
  };
  /** List refused requests, newest first; also as CSV. */
  'GET /admin/v1/refusals': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly accountId?: string | undefined; readonly keyId?: string | undefined; readonly userId?: string | undefined; readonly model?: string | undefined; readonly code?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined };
    body: null;
    response: { readonly data: readonly Refusal[]; readonly nextCursor: string | null };
  };
  /** Resolve an unresolved call: charge it, count its tokens on its plan, or release it. */
  'POST /admin/v1/calls/{id}/resolution': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: unknown;
    response: Call;
  };
  /** Refund the charge of a call, in full or in part; refunds never exceed the charge. */
  'POST /admin/v1/calls/{id}/refunds': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly amountYuan?: string | null | undefined; readonly memo?: string | null | undefined };
    response: Refund;
  };
  /** Grant a Coding Plan for one period, starting now or at a given instant. */
  'POST /admin/v1/accounts/{id}/subscriptions': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly planId: string; readonly startsAt?: string | null | undefined };
    response: Subscription;
  };
  /** List the subscriptions of an account, newest first. */
  'GET /admin/v1/accounts/{id}/subscriptions': {
    path: { readonly id: string };
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined };
    body: null;
    response: { readonly data: readonly Subscription[]; readonly nextCursor: string | null };
  };
  /** Renew a subscription by one period; weeks and periods keep their anchor. */
  'POST /admin/v1/subscriptions/{id}/renewals': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: Subscription;
  };
  /** Cancel a subscription at once. */
  'DELETE /admin/v1/subscriptions/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** List the configured plans with the number of their active subscriptions. */
  'GET /admin/v1/plans': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly Plan[] };
  };
  /** Read what remains of the Coding Plan of an account: windows, quota, concurrency. */
  'GET /admin/v1/accounts/{id}/plan': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: PlanRemainder;
  };
  /** List the groups of accounts with the number of their accounts. */
  'GET /admin/v1/groups': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly Group[] };
  };
  /** List routes with their health as seen by this node, and drains. */
  'GET /admin/v1/routes': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly Route[]; readonly limits: readonly ProviderLimit[]; readonly drains: readonly ({ readonly provider: string; readonly model: string | null; readonly providerModel: string | null; readonly reason: string | null; readonly by: string; readonly byId: string | null; readonly since: Instant; readonly routes: number })[] };
  };
  /** Drain a provider, a model at a provider, or a route: it gets no new calls. */
  'POST /admin/v1/routes/drain': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly provider: string; readonly model?: string | null | undefined; readonly providerModel?: string | null | undefined; readonly reason?: string | null | undefined; readonly by?: string | null | undefined };
    response: { readonly provider: string; readonly model: string | null; readonly providerModel: string | null; readonly reason: string | null; readonly by: string; readonly byId: string | null; readonly since: Instant; readonly routes: readonly Route[]; readonly modelsWithoutRoutes: readonly string[] };
  };
  /** End a drain. */
  'POST /admin/v1/routes/resume': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly provider: string; readonly model?: string | null | undefined; readonly providerModel?: string | null | undefined };
    response: { readonly provider: string; readonly model: string | null; readonly providerModel: string | null; readonly reason: string | null; readonly by: string; readonly byId: string | null; readonly since: Instant; readonly routes: readonly Route[] };
  };
  /** Show the configuration in force on this node, without secrets, and why a newer one was not applied. */
  'GET /admin/v1/config': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: ConfigInForce;
  };
  /** Read the configuration file of this node again; the response says whether it is in force. */
  'POST /admin/v1/config/reload': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: ConfigReload;
  };
  /** Show the catalog: its text, the revision in force and the next one. */
  'GET /admin/v1/catalog': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: Catalog;
  };
  /** List the revisions of the catalog, newest first. */
  'GET /admin/v1/catalog/revisions': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: number | undefined };
    body: null;
    response: { readonly data: readonly RevisionSummary[]; readonly nextCursor: string | null };
  };
  /** Put another catalog in force, at once or at an instant. If it changes nothing, the response is the last revision. */
  'POST /admin/v1/catalog/revisions': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly base: number | null; readonly text?: string | undefined; readonly edits?: readonly ({ readonly path: readonly (string | number)[]; readonly value?: unknown | undefined })[] | undefined; readonly reason?: string | null | undefined; readonly inForceAt?: string | null | undefined; readonly isDraft?: boolean | undefined; readonly isMove?: boolean | undefined };
    response: ChangedCatalog;
  };
  /** Show a revision of the catalog, and how it differs from the one that it is based on. */
  'GET /admin/v1/catalog/revisions/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: Revision;
  };
  /** Cancel a scheduled revision of the catalog, or discard a draft. */
  'DELETE /admin/v1/catalog/revisions/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: RevisionSummary;
  };
  /** Compare two revisions of the catalog. */
  'GET /admin/v1/catalog/difference': {
    path: Record<never, never>;
    query: { readonly from: number; readonly to: number };
    body: null;
    response: { readonly changes: readonly CatalogChange[] | null };
  };
  /** Check a text of the catalog, or edits, without a change: problems, differences, and what example calls would cost. */
  'POST /admin/v1/catalog/check': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly base: number | null; readonly text?: string | undefined; readonly edits?: readonly ({ readonly path: readonly (string | number)[]; readonly value?: unknown | undefined })[] | undefined; readonly exampleModels?: readonly string[] | undefined };
    response: CheckedCatalog;
  };
  /** Put the text of an earlier revision of the catalog in force again, as a new revision. */
  'POST /admin/v1/catalog/revisions/{id}/rollback': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly reason?: string | null | undefined; readonly inForceAt?: string | null | undefined };
    response: ChangedCatalog;
  };
  /** Put a draft of the catalog in force, at once or at an instant. */
  'POST /admin/v1/catalog/revisions/{id}/apply': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly inForceAt?: string | null | undefined };
    response: ChangedCatalog;
  };
  /** Show the JSON Schema of the text of the catalog, for editors. */
  'GET /admin/v1/catalog/schema': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: CatalogSchema;
  };
  /** Show the source that prices follow, and its last read. */
  'GET /admin/v1/catalog/price-source': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: PriceSource;
  };
  /** Read the price source at once. Differences become a draft, or come into force if the source allows it. */
  'POST /admin/v1/catalog/price-source/read': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: PriceSourceRead;
  };
  /** List the settings of known vendors, for new providers of the catalog. */
  'GET /admin/v1/provider-presets': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly ProviderPreset[] };
  };
  /** Test a provider with a minimal call for each of its credentials; the gateway charges nobody. */
  'POST /admin/v1/providers/{id}/test': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly model?: string | null | undefined; readonly operation?: string | null | undefined };
    response: ProviderTest;
  };
  /** Find the dialect in which a provider takes translated requests, with about a dozen small calls. */
  'POST /admin/v1/providers/{id}/dialect': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly model?: string | null | undefined };
    response: DialectSearch;
  };
  /** Ask a provider for its list of models. */
  'GET /admin/v1/providers/{id}/models': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: ProviderModels;
  };
  /** List sealed secrets without their values. */
  'GET /admin/v1/secrets': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly SealedSecret[] };
  };
  /** Set a sealed secret, which credentials of providers can name; nodes use the value at once. */
  'PUT /admin/v1/secrets/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly value: string };
    response: SealedSecret;
  };
  /** Delete a sealed secret that no provider uses. */
  'DELETE /admin/v1/secrets/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** Seal all secrets with the first key of this node, one after another. */
  'POST /admin/v1/secrets/rotate': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly resealed: number; readonly unreadable: readonly string[] };
  };
  /** List usage without a price, as seen by this node since its start. */
  'GET /admin/v1/unpriced': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly { readonly model: string; readonly price: string; readonly calls: number; readonly lastAt: Instant }[] };
  };
  /** Check every invariant of the ledger; with progress=true, progress lines followed by the result. */
  'POST /admin/v1/audit': {
    path: Record<never, never>;
    query: { readonly progress?: 'true' | 'false' | undefined };
    body: null;
    response: Audit;
  };
  /** Sums of usage by day, month, model, provider, account, key, group, status, context, end user, program, tag; also as CSV. */
  'GET /admin/v1/usage': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly groupBy?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined; readonly accountId?: string | undefined; readonly keyId?: string | undefined; readonly model?: string | undefined; readonly provider?: string | undefined; readonly status?: 'succeeded' | 'failed' | 'aborted' | 'unresolved' | 'resolved' | undefined; readonly context?: 'balance' | 'coding' | undefined };
    body: null;
    response: { readonly data: readonly UsageGroup[]; readonly nextCursor: string | null; readonly completeUntil: Instant | null; readonly timezone: string };
  };
  /** Read an account’s statement for a month in the billing time zone; also as CSV. */
  'GET /admin/v1/accounts/{id}/statement': {
    path: { readonly id: string };
    query: { readonly month: string };
    body: null;
    response: Statement;
  };
  /** Latency, time to first byte, errors and tokens per second of routes, by hour, day, model or provider; also as CSV. */
  'GET /admin/v1/latency': {
    path: Record<never, never>;
    query: { readonly groupBy?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined; readonly model?: string | undefined; readonly provider?: string | undefined };
    body: null;
    response: { readonly data: readonly LatencyGroup[]; readonly isCut: boolean; readonly from: Instant; readonly to: Instant; readonly timezone: string };
  };
  /** Export the whole database as lines of JSON. */
  'POST /admin/v1/export': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** Create a named admin token; its text is shown only once. */
  'POST /admin/v1/tokens': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly name: string; readonly role?: 'operator' | 'auditor' | undefined; readonly scopes?: readonly 'export'[] | undefined; readonly expiresAt?: string | null | undefined };
    response: { readonly id: string; readonly name: string; readonly role: 'operator' | 'auditor' | null; readonly scopes: readonly 'export'[]; readonly prefix: string; readonly createdAt: Instant; readonly createdBy: string; readonly createdById: string | null; readonly madeByTokenId: string | null; readonly expiresAt: Instant | null; readonly revokedAt: Instant | null; readonly lastUsedAt: Instant | null; readonly token: string };
  };
  /** List named admin tokens, newest first, without the secrets; the token of the environment is not listed. */
  'GET /admin/v1/tokens': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined };
    body: null;
    response: { readonly data: readonly AdminToken[]; readonly nextCursor: string | null };
  };
  /** Revoke an admin token and the tokens it created, and suspend the unconfirmed users it created. */
  'DELETE /admin/v1/tokens/{id}': {
    path: { readonly id: string };
    query: { readonly keepMade?: 'true' | 'false' | undefined };
    body: null;
    response: null;
  };
  /** Create a user; the link for choosing a password is shown only once. */
  'POST /admin/v1/users': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly name: string; readonly email?: string | null | undefined; readonly operatorRole?: 'operator' | 'auditor' | null | undefined; readonly memberships?: readonly ({ readonly accountId: string; readonly role: 'owner' | 'member' })[] | undefined };
    response: { readonly id: string; readonly email: string | null; readonly name: string; readonly operatorRole: 'operator' | 'auditor' | null; readonly status: 'active' | 'suspended'; readonly hasPassword: boolean; readonly memberships: readonly ({ readonly accountId: string; readonly accountName: string; readonly role: 'owner' | 'member' })[]; readonly unconfirmedTokenId: string | null; readonly createdAt: Instant; readonly lastSignInAt: Instant | null; readonly link: string; readonly linkKind: 'first_sign_in' | 'invitation' | 'reset'; readonly linkExpiresAt: Instant; readonly linkMailedTo: string | null; readonly linkHint: string | null };
  };
  /** List and search users. */
  'GET /admin/v1/users': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly search?: string | undefined; readonly signInName?: string | undefined; readonly operators?: 'true' | undefined };
    body: null;
    response: { readonly data: readonly User[]; readonly nextCursor: string | null };
  };
  /** Read a user. */
  'GET /admin/v1/users/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: User;
  };
  /** Change a user’s name, e-mail address, role or status; a suspended user is signed out at once. */
  'PATCH /admin/v1/users/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly name?: string | undefined; readonly email?: string | null | undefined; readonly operatorRole?: 'operator' | 'auditor' | null | undefined; readonly status?: 'active' | 'suspended' | undefined };
    response: User;
  };
  /** Delete a user, with its memberships and sessions. */
  'DELETE /admin/v1/users/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** Confirm a user that a token created: the user stays active when the token is revoked or expires. */
  'POST /admin/v1/users/{id}/confirm': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: User;
  };
  /** Create a link for choosing a password, shown only once; earlier links become invalid. */
  'POST /admin/v1/users/{id}/links': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: OneTimeLink;
  };
  /** List the sessions of a user. */
  'GET /admin/v1/users/{id}/sessions': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly Session[] };
  };
  /** Sign a user out everywhere. */
  'DELETE /admin/v1/users/{id}/sessions': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** List the members of an account with their limits and usage. */
  'GET /admin/v1/accounts/{id}/members': {
    path: { readonly id: string };
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined };
    body: null;
    response: { readonly data: readonly Member[]; readonly nextCursor: string | null };
  };
  /** Add a user to an account, or change a member’s role. */
  'POST /admin/v1/accounts/{id}/members': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly userId: string; readonly role: 'owner' | 'member' };
    response: Member;
  };
  /** Change a member’s role, or the limits of all its keys together. */
  'PATCH /admin/v1/accounts/{id}/members': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly role?: 'owner' | 'member' | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined; readonly dailyCalls?: number | null | undefined; readonly concurrency?: number | null | undefined; readonly modelBudgets?: { readonly [name: string]: { readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined; readonly totalSpendCapYuan?: string | null | undefined } | null } | undefined; readonly allowedModels?: readonly string[] | null | undefined; readonly userId: string };
    response: Member;
  };
  /** Remove a member from an account; the keys are kept, revoked, or transferred to another member. */
  'DELETE /admin/v1/accounts/{id}/members': {
    path: { readonly id: string };
    query: { readonly userId: string; readonly keys?: 'keep' | 'revoke' | undefined; readonly keysTo?: string | undefined };
    body: null;
    response: null;
  };
  /** List the budgets of end users and tags of an account with their usage. */
  'GET /admin/v1/accounts/{id}/caller-budgets': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly CallerBudget[] };
  };
  /** Set the budget of an end user or a tag, or the default budget of all. */
  'PATCH /admin/v1/accounts/{id}/caller-budgets': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly kind: 'endUser' | 'tag'; readonly value?: string | null | undefined; readonly dailySpendCapYuan?: string | null | undefined; readonly weeklySpendCapYuan?: string | null | undefined; readonly monthlySpendCapYuan?: string | null | undefined };
    response: CallerBudget;
  };
  /** List changes made by people, tokens, keys, the command line and configurations, newest first; also as CSV. */
  'GET /admin/v1/changes': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly actorKind?: 'admin_token' | 'command_line' | 'user' | 'api_key' | 'visitor' | 'configuration' | undefined; readonly actorId?: string | undefined; readonly action?: string | undefined; readonly subjectId?: string | undefined; readonly accountId?: string | undefined; readonly from?: string | undefined; readonly to?: string | undefined };
    body: null;
    response: { readonly data: readonly Change[]; readonly nextCursor: string | null };
  };
  /** List webhook endpoints, newest first. */
  'GET /admin/v1/webhooks': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly accountId?: string | undefined };
    body: null;
    response: { readonly data: readonly WebhookEndpoint[]; readonly nextCursor: string | null };
  };
  /** Create a webhook endpoint; the response shows its secret once. */
  'POST /admin/v1/webhooks': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly url: string; readonly form?: 'faregate' | 'slack' | 'feishu' | 'dingtalk' | 'wecom' | 'telegram' | undefined; readonly secret?: string | null | undefined; readonly language?: 'en' | 'zh' | null | undefined; readonly accountId?: string | null | undefined; readonly events?: readonly ('balance.low' | 'budget.nearly_used' | 'plan.nearly_used' | 'key.expiring' | 'invoice.closed' | 'route.down' | 'provider.refused_account' | 'provider.budget_nearly_used' | 'catalog.failed' | 'catalog.recovered' | 'prices.changed' | 'prices.failed' | 'invoice.requested')[] | null | undefined };
    response: { readonly id: string; readonly accountId: string | null; readonly url: string; readonly form: 'faregate' | 'slack' | 'feishu' | 'dingtalk' | 'wecom' | 'telegram'; readonly language: 'en' | 'zh' | null; readonly isSigned: boolean; readonly events: readonly ('balance.low' | 'budget.nearly_used' | 'plan.nearly_used' | 'key.expiring' | 'invoice.closed' | 'route.down' | 'provider.refused_account' | 'provider.budget_nearly_used' | 'catalog.failed' | 'catalog.recovered' | 'prices.changed' | 'prices.failed' | 'invoice.requested')[] | null; readonly status: 'active' | 'disabled'; readonly statusReason: string | null; readonly failingSince: Instant | null; readonly createdAt: Instant; readonly secret: string | null };
  };
  /** Read a webhook endpoint. */
  'GET /admin/v1/webhooks/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: WebhookEndpoint;
  };
  /** Change, disable or enable a webhook endpoint. */
  'PATCH /admin/v1/webhooks/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly url?: string | undefined; readonly secret?: string | null | undefined; readonly language?: 'en' | 'zh' | null | undefined; readonly status?: 'active' | 'disabled' | undefined; readonly events?: readonly ('balance.low' | 'budget.nearly_used' | 'plan.nearly_used' | 'key.expiring' | 'invoice.closed' | 'route.down' | 'provider.refused_account' | 'provider.budget_nearly_used' | 'catalog.failed' | 'catalog.recovered' | 'prices.changed' | 'prices.failed' | 'invoice.requested')[] | null | undefined };
    response: WebhookEndpoint;
  };
  /** Delete a webhook endpoint and its pending deliveries. */
  'DELETE /admin/v1/webhooks/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** Send a test notice to a webhook endpoint. */
  'POST /admin/v1/webhooks/{id}/test': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: { readonly noticeId: string };
  };
  /** List past and pending deliveries of a webhook endpoint, newest first. */
  'GET /admin/v1/webhooks/{id}/deliveries': {
    path: { readonly id: string };
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined };
    body: null;
    response: { readonly data: readonly WebhookDelivery[]; readonly nextCursor: string | null };
  };
  /** Resend a notice to a webhook endpoint. */
  'POST /admin/v1/webhooks/{id}/redeliver': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly noticeId: string };
    response: { readonly noticeId: string };
  };
  /** Read the low-balance threshold of an account. */
  'GET /admin/v1/accounts/{id}/low-balance': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: { readonly accountId: string; readonly thresholdYuan: Yuan | null; readonly defaultThresholdYuan: Yuan | null; readonly hasMail: boolean };
  };
  /** Set the low-balance threshold of an account; null: the configured value. */
  'PUT /admin/v1/accounts/{id}/low-balance': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly thresholdYuan: string | null };
    response: { readonly accountId: string; readonly thresholdYuan: Yuan | null; readonly defaultThresholdYuan: Yuan | null; readonly hasMail: boolean };
  };
  /** Create an announcement, which the console shows from its start to its end. */
  'POST /admin/v1/announcements': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly textEn?: string | null | undefined; readonly textZh?: string | null | undefined; readonly level?: 'info' | 'warning' | undefined; readonly audience?: 'everyone' | 'signed_in' | undefined; readonly startsAt?: string | null | undefined; readonly endsAt: string };
    response: Announcement;
  };
  /** List announcements, newest first, also those that ended in the last 90 days. */
  'GET /admin/v1/announcements': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: null;
    response: { readonly data: readonly Announcement[] };
  };
  /** Change an announcement. */
  'PATCH /admin/v1/announcements/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly textEn?: string | null | undefined; readonly textZh?: string | null | undefined; readonly level?: 'info' | 'warning' | undefined; readonly audience?: 'everyone' | 'signed_in' | undefined; readonly startsAt?: string | undefined; readonly endsAt?: string | undefined };
    response: Announcement;
  };
  /** Delete an announcement, which ends it at once. */
  'DELETE /admin/v1/announcements/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** Create a batch of vouchers; their codes are shown only once. */
  'POST /admin/v1/vouchers': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly name: string; readonly amountYuan?: string | null | undefined; readonly planId?: string | null | undefined; readonly count: number; readonly expiresAt?: string | null | undefined };
    response: NewVoucherBatch;
  };
  /** List and search batches of vouchers with the number of redemptions, newest first, at most 50 per page. */
  'GET /admin/v1/vouchers': {
    path: Record<never, never>;
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined; readonly search?: string | undefined };
    body: null;
    response: { readonly data: readonly VoucherBatch[]; readonly nextCursor: string | null };
  };
  /** Find the batch and redemption of a voucher code. */
  'POST /admin/v1/vouchers/search': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: { readonly code: string };
    response: FoundVoucher;
  };
  /** Read a batch of vouchers, without its codes. */
  'GET /admin/v1/vouchers/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: VoucherBatch;
  };
  /** Cancel all unredeemed vouchers of a batch. */
  'DELETE /admin/v1/vouchers/{id}': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
  /** List the redemptions of a batch, newest first. */
  'GET /admin/v1/vouchers/{id}/redemptions': {
    path: { readonly id: string };
    query: { readonly limit?: number | undefined; readonly cursor?: string | undefined };
    body: null;
    response: { readonly data: readonly VoucherRedemption[]; readonly nextCursor: string | null };
  };
  /** Redeem a voucher for an account; a repeat changes nothing, even without an Idempotency-Key. */
  'POST /admin/v1/accounts/{id}/vouchers': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: { readonly code: string };
    response: VoucherRedemption;
  };
  /** Complete a sign-in at an OpenID provider. */
  'GET /account/v1/oidc/{id}/callback': {
    path: { readonly id: string };
    query: Record<never, never>;
    body: null;
    response: null;
  };
}
