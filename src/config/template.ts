/**
 * The file that `faregate init` writes. A line with `#` but no space after it is a setting that can be uncommented as it is, as tests do.
 */
export const configTemplate = `# The configuration of Faregate.
#
#   faregate check     reports errors with line and key
#   faregate serve     starts the gateway
#
# A running gateway reloads this file when it changes, or on SIGHUP. Calls in flight keep the old settings. If the file
# is not valid, nothing changes and the log says why. Settings marked "restart" take effect at the next start.
#
# \${NAME} is replaced by the environment variable NAME, \${NAME:-default} by "default" if NAME is unset or empty.
# Inside { } and [ ], put such values in quotes. Durations: 500ms, 10s, 5m, 2h. Sizes: 500KB, 64MiB.

server:
  # Address to listen on. 0.0.0.0 is every address, port 0 a free port. HOST, PORT, --host and --port override both.
  host: 127.0.0.1                       # restart
  port: 8080                            # restart
  # Public address of the gateway, for links and cookies. Default: the address of each request.
  # publicUrl: https://gateway.example
  # Address that serves /metrics without a token. The port above requires the admin token for it. Default: none.
  # metrics: 127.0.0.1:9464             # restart

  # Largest request after decompression: JSON bodies, and uploads for image edits.
  #bodyLimit: 64MiB                     # restart
  #editBodyLimit: 805MiB                # restart

  # Capacity for the bodies of all requests in flight: memory, by default a quarter of the available memory, and for
  # uploads the disk of dataDir, by default half of the free space, at most 8GiB. Accounts share both. Requests that do
  # not fit get 503.
  # bodyMemory: 1GiB
  # uploadDisk: 8GiB

  # Names of the two protocol families. Both appear in headers, such as altproto-version, and in the catalog; the name
  # of messages also in paths, such as /altproto/v1/messages. A list serves several names; the first is canonical.
  #protocolNames: { chat: compat, messages: altproto }    # restart

  # Whether calls to /altproto/v1/messages use the Coding Plan of the account (coding) or its balance.
  #messagesContext: coding              # restart

  # Origins of web pages that may call the gateway from a browser, such as https://app.example. "*" allows every page.
  #cors: { origins: [] }

  # Whether responses include x-faregate-* headers with the charge and the remaining balance or quota.
  #callHeaders: true
  # Sends a comment on a stream that was silent for this long. Default: never.
  # sseKeepAlive: 15s

  # After SIGTERM the node keeps serving for this long while /readyz returns 503, so that load balancers notice. SIGINT
  # or a second signal skips the delay.
  #drainDelay: 5s
  # How long calls in flight may continue after that.
  #shutdownTimeout: 30s
  # Timeout for the next 8 KiB of an upload. An upload of 1 KiB a second or more has no time limit.
  #uploadIdleTimeout: 30s
  # Timeout for the headers of a request.
  #headerTimeout: 60s                   # restart
  # How long a client may leave its response unread before the gateway disconnects it. A slow client must read 64 KiB
  # in this time.
  #clientStallTimeout: 5m               # restart
  # Maximum number of client connections. Further connections are closed at once.
  #connections: 20000                   # restart
  # Maximum number of connections from one address. Default: half of the above.
  # connectionsPerAddress: 10000        # restart
  # Reverse proxies, such as [127.0.0.1, 10.0.0.0/8]. For their requests, the client is the last address in
  # X-Forwarded-For that is no proxy. Its requests in flight are limited instead of the connections of the proxy.
  #trustedProxies: []                   # restart

database:
  # Empty: the gateway starts a local PostgreSQL with its files in dataDir, for one gateway only.
  # postgres://user:password@host/name: PostgreSQL 15 or later, for any number of gateways.
  url: \${DATABASE_URL:-}                # restart
  # Also holds the journal of finished calls while the database is down. It must survive restarts, even if url is set.
  dataDir: ./data                       # restart
  # Directory with initdb and postgres for the local server. Default: the PostgreSQL installed with Faregate.
  # binaries: /usr/lib/postgresql/18/bin  # restart
  # Number of partitions for accounts. The gateway creates missing partitions and never removes one.
  #partitions: 1                        # restart

billing:
  # Maximum daily spend of an account without a cap of its own. Default: no cap.
  dailySpendCapYuan: "500"
  # Time zone of the billing day.
  timezone: Asia/Shanghai
  # If a client disconnects during a stream: cancel it at the provider, or drain it to the end. Used tokens are charged
  # either way. A model can override this.
  #onClientAbort: cancel

routing:
  # A route is taken out of service after this many consecutive failures (no connection, timeout, 5xx), and later probed
  # with one call. If only the calls of one account fail, the route is out of service for that account.
  #breaker: { failures: 5, probeAfter: 10s }

idempotency:
  # How long a repeat with the same Idempotency-Key gets the stored response, the largest response that is stored, and
  # the maximum size of all stored responses of an account. 0s ignores the header.
  #keepFor: 24h
  #answerLimit: 1MiB
  #accountLimit: 64MiB

log:
  # Which requests are logged.
  #requests: all                        # all | refused | none
  # Default: pretty if standard error is a terminal, otherwise json.
  # format: json                        # json | pretty

# How long records are kept: docs/operations/retention.md.
retention:
  # Call records. 400d drops months that ended more than 400 days ago. Default: forever. Ledgers, usage and statements
  # stay.
  #calls: 400d
  # Refused requests. 0 records none.
  #refusals: 30d
  # The audit log: changes through the admin API, the account API and the command line.
  #changes: 400d
  # Notices and their deliveries.
  #notices: 30d
  # Hourly latency and failures of routes.
  #latency: 100d

people:
  # How long a session lasts without a request, and its maximum duration.
  #sessionIdle: 7d
  #sessionMax: 30d

# Sign-in with OpenID Connect. Requires server.publicUrl, and the redirect address
# <publicUrl>/account/v1/oidc/<name>/callback at the provider. New people need an invitation: docs/openid-connect.md.
# oidc:
#   company:
#     issuer: https://login.company.example
#     clientId: faregate
#     clientSecret: \${OIDC_CLIENT_SECRET}
#     displayName: Company account
#     scopes: [openid, email, profile]
#     timeout: 5s                       # of each request to the provider

notices:
  # Notifies accounts without their own threshold when their balance falls below this. Default: no notice.
  # lowBalanceYuan: "10"
  # Notifies the subscriber of a plan when these percentages of the period's tokens or the week's calls are used.
  #planPercents: [80, 100]
  # Notifies operators when a route was down for this long.
  #routeDownAfter: 1m
  # Webhooks reach the public internet by https. These networks are allowed too, also by http: [10.1.0.0/16]
  #allowNetworks: []

# Mail server for notices, invitations and links. Without this section, no mail is sent.
# mail:
  # smtp: { host: smtp.example.com, port: 587, tls: starttls, user: gateway, password: "\${SMTP_PASSWORD}" }
  # # tls: starttls, implicit (from the first byte, port 465) or none (a server on this machine).
  # from: Gateway <gateway@example.com>

# Sends spans of calls to an OpenTelemetry collector by OTLP over HTTP: docs/tracing.md. Requires packages that are not
# installed by default, and loads them only if this section exists.
# tracing:                              # restart
  # endpoint: http://127.0.0.1:4318     # /v1/traces is appended
  # serviceName: faregate
  # headers: { authorization: "\${COLLECTOR_TOKEN}" }
  # Share of calls to trace if the client's traceparent does not decide.
  # sampleRatio: 1

# Vendors, and your accounts there.
providers:
  acme:
    # API of the provider: chat (POST .../chat/completions) or messages (POST .../v1/messages).
    protocol: chat
    # Base URL, as for the vendor's own SDK. For chat, /chat/completions is appended.
    baseUrl: https://api.acme.example/v1
    # From the environment, which keeps secrets out of version control. Or from a file, reloaded when it changes:
    # apiKey: { file: /run/secrets/acme-key }
    # Or several credentials of one account, used in rotation. A refused credential is skipped for ten minutes:
    # apiKeys: ["\${ACME_KEY_1}", { file: /run/secrets/acme-key-2 }]
    apiKey: \${ACME_API_KEY}

  other:
    protocol: messages
    # For messages, leave out /v1, because /v1/messages is appended.
    baseUrl: https://api.other.example
    apiKey: \${OTHER_API_KEY}
    # Prefix of the headers that this provider expects: anthropic-version, anthropic-beta.
    vendor: anthropic
    # Header for the credential. Default: bearer for chat, x-api-key for messages.
    #auth: x-api-key
    # Who may refer to state that the provider keeps, such as responses and containers: own, the account whose responses
    # contained it, or pass, every account.
    #sharedState: own
    # Unknown tools and tool fields that may be sent to the provider, such as tools.x_search or "tools.openrouter:*"
    # (docs/provider-state.md), and what happens to all others: refuse or pass.
    #allows: []
    #unknownTools: refuse
    # A non-streaming response without usage: refuse (502, free of charge), or estimate, for servers that never report
    # usage. Compactions and images are always refused, streams always estimated.
    #missingUsage: refuse
    # Whether the input that a relay reports excludes cached tokens: auto (from its figures) or excluded (always).
    #cacheTokens: auto
    # Timeouts for a connection, for the first byte of a response (models may reason for minutes), and between two bytes
    # of a stream.
    #timeouts: { connect: 10s, firstByte: 600s, idle: 300s }
    # Maximum number of calls in flight, how many more may wait, and for how long. Accounts share both: the last eighth
    # is reserved for accounts that use less than an eighth.
    #connections: 1024
    #queue: { length: 1024, wait: 10s }
    # Headers of every request to the provider. They override headers of clients, and may be secret.
    #headers: {}
    # Whether the provider receives the traceparent of calls, so that its spans join your traces: off or pass.
    #traceContext: off
    # HTTP proxy. HTTPS_PROXY and NO_PROXY in the environment are ignored.
    #proxy: \${OTHER_PROXY:-}
    # Offers HTTP/2 to the provider.
    #http2: false
    # Certificate authority of the provider, as PEM or the path of a file:
    # ca: ./other-ca.pem

# Models that customers may call, by name.
models:
  acme-large:
    # Other names of the model.
    aliases: [acme-large-latest]

    # For the public catalog. Missing fields are null there.
    displayName: Acme Large
    manufacturer: Acme
    capability: chat
    contextLength: "200000"
    # Also the number of tokens that a call without a limit reserves.
    maxOutputTokens: "32000"
    #description: The large one.
    #modelSize: 400B
    #inputModalities: text, image
    #outputModalities: text
    #docsPath: /docs/acme-large
    # false removes the model from the catalog and rejects its calls.
    #listed: true
    # Tokens of this model per o200k token, if estimates are off. Default: the factor of its family.
    #tokenFactor: 1.3
    # Whether the model reasons without showing it. If a client disconnects, the estimate then includes the elapsed
    # time. Default: derived from reported usage.
    #hiddenReasoning: true
    # Overrides billing.onClientAbort.
    #onClientAbort: drain

    # Any of: chat, messages, responses, compact, embeddings, rerank, images.generate, images.edit.
    operations: [chat, responses, compact]

    # Yuan per million tokens. Put prices in quotes. Without a price of its own, cached input costs the same as input.
    price:
      input: "4"
      cachedInput: "0.4"
      output: "16"
      # Images: token prices, or a price per image, which may depend on quality and size. Keys of the form WIDTHxHEIGHT
      # are sizes; all others except default are qualities.
      #imageInput: "10"
      #imageOutput: "40"
      #perImage: { low: "0.08", high: { 1024x1024: "1.2", default: "1.8" }, default: "0.3" }
      # Further items that vendors bill: docs/charges.md. Factors on token prices, for a tier, a speed or a region. On
      # the balance, requests for a term without a factor are rejected.
      #serviceTiers: { flex: "0.5", priority: "2" }
      #speeds: { fast: "6" }
      #inferenceGeos: { us: "1.1" }
      # Audio tokens. Without these prices, requests with audio are rejected on the balance.
      #audioInput: "40"
      #audioOutput: "80"
      # Tokens that the provider counts outside its totals, such as Perplexity's research.
      #citations: "14"
      #reasoning: "21"
      # Uses of tools that the provider runs. Tools without a price are free, and "faregate check" warns of them.
      #perWebSearch: "0.07"
      #perWebFetch: "0"
      #perFileSearch: "0.02"
      #perCodeExecution: "0"
      #perContainer: "0.2"
      #perToolUse: "0"
      # Prices of all tokens of a call with more input tokens than this. Set every token price that the list has.
      #above:
        #"128000":
          #{ input: "8", cachedInput: "0.8", output: "24", imageInput: "20", imageOutput: "80", audioInput: "80",
          #audioOutput: "160", citations: "14", reasoning: "21" }
      # Token prices if the response reports reasoning. Alternatively, prices for longer output,
      # #outputAbove: { "200": … }. Entries of "above" may have either too. Set every token price that the list has.
      #thinking:
        #{ input: "4", cachedInput: "0.4", output: "32", imageInput: "10", imageOutput: "40", audioInput: "40",
        #audioOutput: "80", citations: "14", reasoning: "21" }
      # Rerank: input tokens as above, or a price per call, or a price per search unit.
      #perCall: "0.002"
      # The vendor's list price, for the catalog. 8000 basis points: your price is 80 % of it.
      #official: { input: "5", cachedInput: "0.5", output: "20", discountBasisPoints: 8000 }
      # Prices by time of day. The start of a call decides. A range may cross midnight.
      #timeOfDay:
        #id: cn-day
        #timezone: Asia/Shanghai
        #peak: { hours: ["09:00-21:00"], input: "4", output: "16" }
        #offPeak: { input: "2", output: "8" }

    # Models that the body of a request may name (advisor, fallbacks). Each key is the vendor's name of a model, and its
    # value the model of this file that sets price and access. Other names are rejected.
    #innerModels: { acme-small-2026-10: acme-small }

    # Providers of the model, and its name there. Routes with the lowest priority number are tried first; routes of the
    # same priority share calls by weight. A weight of 0 takes a route out of service.
    routes:
      - provider: acme
        model: acme-large-2026-10
        priority: 0
        weight: 1
        # Your own cost, with the keys of a price. "faregate usage" then shows cost and margin. Charges do not change.
        #cost: { input: "3", cachedInput: "0.3", output: "12" }

  acme-small:
    displayName: Acme Small
    manufacturer: Acme
    contextLength: "128000"
    maxOutputTokens: "16000"
    operations: [chat]
    price: { input: "0.5", output: "1.5" }
    routes:
      - { provider: acme, model: acme-small-2026-10 }

  other-pro:
    displayName: Other Pro
    manufacturer: Other
    contextLength: "200000"
    maxOutputTokens: "64000"
    operations: [messages]
    price:
      input: "20"
      cachedInput: "2"
      # Cache writes, for five minutes and for an hour.
      cacheWrite: "25"
      cacheWrite1h: "40"
      output: "100"
    routes:
      - { provider: other, model: other-pro-1 }

# Limits per minute of accounts without limits of their own ("faregate account limit"): requests, and input plus output
# tokens; for all models together, and for single models. Default: no limit.
#limits:
  #requestsPerMinute: 600
  #tokensPerMinute: 1000000
  #models:
    #acme-large: { requestsPerMinute: 60 }

# Coding Plans: a fixed number of calls and tokens instead of prices. "faregate plan grant" subscribes an account, whose
# keys then work at the coding addresses.
plans:
  coding-pro:
    name: Coding Pro
    models: [acme-large, other-pro]
    # Calls per five hours, calls per week of the subscription, and concurrent calls.
    fiveHourCalls: 600
    weeklyCalls: 5000
    concurrency: 4
    # Tokens per period, and the length of a period.
    quotaTokens: 200000000
    periodDays: 30
    # Price of a period. Reports spread this revenue over the days of the period; no account is charged.
    #priceYuan: "199"
    # How many calls may wait at the concurrency limit, and for how long.
    #queue: { length: 0, wait: 30s }
    # Largest request, and maximum output tokens of a request.
    inputByteLimit: 4MiB
    outputTokenLimit: 32000
`;
