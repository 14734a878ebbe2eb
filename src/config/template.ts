/**
 * The file that `faregate init` writes: a first configuration with explanations. A line that begins with `#` and no
 * space after it is a setting that may be switched on as it stands; the tests do so.
 */
export const configTemplate = `# The configuration of Faregate.
#
#   faregate check     says what is wrong with it, with line and key
#   faregate serve     serves it
#
# A running gateway takes a changed file at once, or on SIGHUP; calls under way finish as they began. A file that is
# not valid changes nothing, and the log says why. Settings marked "restart" wait for the next start.
#
# \${NAME} is replaced by the environment variable NAME, \${NAME:-default} by "default" if it is not set or empty.
# Inside { } and [ ] such a value needs quotes. Durations: 500ms, 10s, 5m, 2h. Sizes: 500KB, 64MiB.

server:
  # Where to listen; 0.0.0.0 is every address of this machine, port 0 a free port. HOST, PORT, --host and --port win.
  host: 127.0.0.1                       # restart
  port: 8080                            # restart
  # The address that people reach the gateway at, for links and cookies. Left out: the one that the request came to.
  # publicUrl: https://gateway.example
  # Where /metrics is served without a token. At the port above it needs the admin token. Nowhere by default.
  # metrics: 127.0.0.1:9464             # restart

  # The largest request, after decompression: JSON bodies, and uploads of images to be edited.
  #bodyLimit: 64MiB                     # restart
  #editBodyLimit: 805MiB                # restart

  # What the bodies of all requests under way may take: memory, by default a quarter of what there is, and for uploads
  # the disk of dataDir, by default half of what is free and 8GiB at most. Accounts share it; what does not fit is
  # refused with 503 until there is room.
  # bodyMemory: 1GiB
  # uploadDisk: 8GiB

  # What the two families of addresses are called. The name of messages stands in paths, /altproto/v1/messages, both
  # stand in headers, altproto-version, and in the catalog. A list serves several names, the first one canonical.
  #protocolNames: { chat: compat, messages: altproto }    # restart

  # What /altproto/v1/messages draws on: the plan of the account (coding), or its balance.
  #messagesContext: coding              # restart

  # Web pages that may call the gateway from a browser, such as https://app.example; "*" is every page.
  #cors: { origins: [] }

  # Whether responds say in x-faregate-* headers what a call was charged and what is left.
  #callHeaders: true
  # Send a comment on a stream that was silent for so long. Off by default.
  # sseKeepAlive: 15s

  # After SIGTERM everything is still served for so long, while /readyz responds with 503, so that load balancers
  # notice. SIGINT does not wait, and a second signal ends the wait.
  #drainDelay: 5s
  # How long calls under way may go on after that.
  #shutdownTimeout: 30s
  # How long the next 8 KiB of an upload may take. An upload that goes on at 1 KiB a second or more may take any time.
  #uploadIdleTimeout: 30s
  # How long the headers of a request may take.
  #headerTimeout: 60s                   # restart
  # How long a client may leave its response untaken; then it counts as one that has left. A slow one has to take 64 KiB
  # in this time.
  #clientStallTimeout: 5m               # restart
  # The most connections of clients at a time; more are closed at once.
  #connections: 20000                   # restart
  # The most of one address, so that nobody takes them all. Left out: half of them.
  # connectionsPerAddress: 10000        # restart
  # Proxies before the gateway, such as [127.0.0.1, 10.0.0.0/8]. There the client is the last address in X-Forwarded-For
  # that is none of them, and its requests under way are limited instead of the proxy's connections.
  #trustedProxies: []                   # restart

database:
  # Nothing: a local PostgreSQL that the gateway starts, with its files in dataDir; one gateway only.
  # postgres://user:password@host/name: PostgreSQL 15 or later; any number of gateways.
  url: \${DATABASE_URL:-}                # restart
  # Also where ends of calls wait while the database is away: it has to survive a restart, on PostgreSQL too.
  dataDir: ./data                       # restart
  # The directory with initdb and postgres for the local server. Left out: those that are installed with Faregate.
  # binaries: /usr/lib/postgresql/18/bin  # restart
  # Over how many partitions accounts are spread: the gateway makes those that are missing. None is ever taken away.
  #partitions: 1                        # restart

billing:
  # The most that an account may spend in a day, unless it has a cap of its own. Leave it out for no cap.
  dailySpendCapYuan: "500"
  # The time zone in which that day begins.
  timezone: Asia/Shanghai
  # When a client leaves in the middle of a stream: cancel it at the provider, or drain it to the end. What was used is
  # charged either way; a model may have a setting of its own.
  #onClientAbort: cancel

routing:
  # A route is left out after so many failures in a row (no connection, no response in time, 5xx), and after a while
  # tried again with one call. Where only the calls of one account fail, it is left out for that account.
  #breaker: { failures: 5, probeAfter: 10s }

idempotency:
  # For how long a repeat of a call with the same Idempotency-Key gets the response of the first, which is kept up to
  # this size, and up to this size for all calls of an account; 0s ignores the header.
  #keepFor: 24h
  #answerLimit: 1MiB
  #accountLimit: 64MiB

log:
  # A line for each request, for those that were refused, or none.
  #requests: all                        # all | refused | none
  # Without it: lines to read if standard error is a terminal, else JSON.
  # format: json                        # json | pretty

# How long records are kept: docs/operations/retention.md.
retention:
  # Call records, by whole months: 400d drops months that ended longer ago. Without it none is ever dropped. Ledgers,
  # usage and statements stay.
  #calls: 400d
  # Requests that were refused; 0 records none.
  #refusals: 30d
  # Who changed what through the admin API, the account API and the command line.
  #changes: 400d
  # Notices and their deliveries.
  #notices: 30d
  # How fast routes respond and how often they fail, by the hour.
  #latency: 100d

people:
  # Who has signed in is signed out after so long without a request, and after so long in all.
  #sessionIdle: 7d
  #sessionMax: 30d

# Where people can sign in besides with a password, by OpenID Connect. This needs server.publicUrl, and the provider has
# to know <publicUrl>/account/v1/oidc/<name>/callback. Whoever comes needs an invitation: docs/openid-connect.md.
# oidc:
#   company:
#     issuer: https://login.company.example
#     clientId: faregate
#     clientSecret: \${OIDC_CLIENT_SECRET}
#     displayName: Company account
#     scopes: [openid, email, profile]
#     timeout: 5s                       # of each request to the provider

notices:
  # Below which balance an account is told of it, unless it has a threshold of its own. Left out: nobody else is.
  # lowBalanceYuan: "10"
  # At which shares of the tokens of its period, and of the calls of its week, the holder of a plan is told.
  #planPercents: [80, 100]
  # How long a route has to be down until operators are told.
  #routeDownAfter: 1m
  # Webhooks go to the public internet, by https. Networks here may be reached too, by http as well: [10.1.0.0/16]
  #allowNetworks: []

# A server that takes mail: for notices, invitations and links. Without this section no mail is sent.
# mail:
  # smtp: { host: smtp.example.com, port: 587, tls: starttls, user: gateway, password: "\${SMTP_PASSWORD}" }
  # # tls: starttls, implicit (from the first byte, port 465) or none (a server on this machine).
  # from: Gateway <gateway@example.com>

# Spans of calls, sent to an OpenTelemetry collector by OTLP over HTTP: docs/tracing.md. Needs packages that are not
# installed by default; without this section nothing of it is loaded.
# tracing:                              # restart
  # endpoint: http://127.0.0.1:4318     # /v1/traces is appended
  # serviceName: faregate
  # headers: { authorization: "\${COLLECTOR_TOKEN}" }
  # The share of calls that are traced if the client's traceparent does not say.
  # sampleRatio: 1

# Vendors, and the accounts that you have there.
providers:
  acme:
    # The API that this provider speaks: chat (POST .../chat/completions) or messages (POST .../v1/messages).
    protocol: chat
    # What you would give the vendor's own SDK. For chat, /chat/completions is appended to it.
    baseUrl: https://api.acme.example/v1
    # From the environment, so that this file can be shown and kept in version control. Or from a file, which is read
    # again when it changes:
    # apiKey: { file: /run/secrets/acme-key }
    # Several credentials of one account are used by turns; one that is refused is left out for ten minutes:
    # apiKeys: ["\${ACME_KEY_1}", { file: /run/secrets/acme-key-2 }]
    apiKey: \${ACME_API_KEY}

  other:
    protocol: messages
    # For messages it ends before /v1, because /v1/messages is appended.
    baseUrl: https://api.other.example
    apiKey: \${OTHER_API_KEY}
    # The name in the headers that this provider expects: anthropic-version, anthropic-beta.
    vendor: anthropic
    # How the key is sent. Left out: bearer for chat, x-api-key for messages.
    #auth: x-api-key
    # Who may refer to state that this provider keeps, such as responses and containers: own, the account whose responds
    # carried it, or pass, everybody.
    #sharedState: own
    # Unknown tools, and unknown members of tools, that this provider may be sent, such as tools.x_search or
    # "tools.openrouter:*" (docs/provider-state.md); and what happens to all others: refuse, pass.
    #allows: []
    #unknownTools: refuse
    # What becomes of a whole response without usage: refuse, 502 and free of charge, or estimate, for servers that
    # never report any. Compaction and images are always refused, streams always estimated.
    #missingUsage: refuse
    # Whether the input that a relay reports excludes the tokens of the cache: auto, derived from its figures, or
    # excluded, always.
    #cacheTokens: auto
    # How long to wait for a connection, for the first byte of a response (models may think for minutes), and for the
    # next byte of a stream.
    #timeouts: { connect: 10s, firstByte: 600s, idle: 300s }
    # The most calls under way at a time, how many more may wait for one of these to end, and for how long. Accounts
    # share both: the last eighth is for those that hold less than an eighth.
    #connections: 1024
    #queue: { length: 1024, wait: 10s }
    # Sent with every request to this provider. They may be secret, and win over what clients send.
    #headers: {}
    # Whether it gets the traceparent of calls, so that its spans are part of your traces: off or pass.
    #traceContext: off
    # Through an HTTP proxy. HTTPS_PROXY and NO_PROXY in the environment are not read.
    #proxy: \${OTHER_PROXY:-}
    # Offers HTTP/2 to the provider.
    #http2: false
    # A certificate authority of one's own that the provider's certificate comes from, as PEM or the path of a file:
    # ca: ./other-ca.pem

# What customers may call, under the name that they call it by.
models:
  acme-large:
    # Other names for the same model.
    aliases: [acme-large-latest]

    # Shown in the public catalog. What is left out is null there.
    displayName: Acme Large
    manufacturer: Acme
    capability: chat
    contextLength: "200000"
    # Also what is set aside for a call that names no limit itself.
    maxOutputTokens: "32000"
    #description: The large one.
    #modelSize: 400B
    #inputModalities: text, image
    #outputModalities: text
    #docsPath: /docs/acme-large
    # false takes the model out of the catalog and refuses calls of it.
    #listed: true
    # Tokens of this model for one of OpenAI's o200k, if token estimates are off. Left out: as usual for its family.
    #tokenFactor: 1.3
    # Whether the model reasons without showing it: if a client leaves its stream, the time counts as well as the
    # text. Left out: as its usage has shown.
    #hiddenReasoning: true
    # In place of billing.onClientAbort.
    #onClientAbort: drain

    # Any of: chat, messages, responses, compact, embeddings, rerank, images.generate, images.edit.
    operations: [chat, responses, compact]

    # Yuan per million tokens. Put prices in quotes. What is left out of the cached prices costs as input.
    price:
      input: "4"
      cachedInput: "0.4"
      output: "16"
      # Images: tokens of images, or a price an image, which may depend on quality and size: names of the form
      # WIDTHxHEIGHT are sizes, all others but default are qualities.
      #imageInput: "10"
      #imageOutput: "40"
      #perImage: { low: "0.08", high: { 1024x1024: "1.2", default: "1.8" }, default: "0.3" }
      # What vendors bill beside that, if you offer it: docs/charges.md. Factors on the prices of tokens, for a
      # tier, a speed or a region: on the balance a request for one that has none is refused.
      #serviceTiers: { flex: "0.5", priority: "2" }
      #speeds: { fast: "6" }
      #inferenceGeos: { us: "1.1" }
      # Tokens of audio; without these prices requests with audio are refused on the balance.
      #audioInput: "40"
      #audioOutput: "80"
      # Tokens that the provider counts outside of its totals, such as those of Perplexity's research.
      #citations: "14"
      #reasoning: "21"
      # Each use of a tool that the provider runs; what has no price costs nothing, and "faregate check" says so.
      #perWebSearch: "0.07"
      #perWebFetch: "0"
      #perFileSearch: "0.02"
      #perCodeExecution: "0"
      #perContainer: "0.2"
      #perToolUse: "0"
      # Prices of all tokens of a call whose input has more tokens than this.
      # A step names every price of tokens that the list names.
      #above:
        #"128000":
          #{ input: "8", cachedInput: "0.8", output: "24", imageInput: "20", imageOutput: "80", audioInput: "80",
          #audioOutput: "160", citations: "14", reasoning: "21" }
      # Prices of tokens if the response reports reasoning. In their place there may be prices for a longer output,
      # #outputAbove: { "200": … }; a step may have one of both too. They name what the list names.
      #thinking:
        #{ input: "4", cachedInput: "0.4", output: "32", imageInput: "10", imageOutput: "40", audioInput: "40",
        #audioOutput: "80", citations: "14", reasoning: "21" }
      # Rerank: by input tokens as above, or a price a call, or a price a search unit.
      #perCall: "0.002"
      # The vendor's list price beside yours in the catalog; 8000 basis points: yours is 80 % of it.
      #official: { input: "5", cachedInput: "0.5", output: "20", discountBasisPoints: 8000 }
      # Prices by the hour. A call costs what was in force when it began. A range may cross midnight.
      #timeOfDay:
        #id: cn-day
        #timezone: Asia/Shanghai
        #peak: { hours: ["09:00-21:00"], input: "4", output: "16" }
        #offPeak: { input: "2", output: "8" }

    # Other models of the vendor that a request may name inside it (an advisor's, fallbacks), by the vendor's name, and
    # the model here that prices and admits each. Any other name is refused.
    #innerModels: { acme-small-2026-10: acme-small }

    # Who serves it, and under which name there. The lowest priority number goes first; routes of the same priority
    # share the calls by weight; a weight of 0 takes a route out of service.
    routes:
      - provider: acme
        model: acme-large-2026-10
        priority: 0
        weight: 1
        # What you pay there, in yuan and in the form of a price. It charges nobody; "faregate usage" shows cost and
        # margin then.
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
      # Writing into the provider's cache, for five minutes and for an hour.
      cacheWrite: "25"
      cacheWrite1h: "40"
      output: "100"
    routes:
      - { provider: other, model: other-pro-1 }

# What each account may use in a minute, unless it has limits of its own ("faregate account limit"): requests, and
# tokens of input and output together; for all models, and for single ones. Left out: no limit.
#limits:
  #requestsPerMinute: 600
  #tokensPerMinute: 1000000
  #models:
    #acme-large: { requestsPerMinute: 60 }

# Subscriptions: a fixed number of calls and tokens instead of a price for each. "faregate plan grant" gives one to an
# account, whose keys then work at the coding addresses.
plans:
  coding-pro:
    name: Coding Pro
    models: [acme-large, other-pro]
    # Calls in any five hours, calls in a week of the subscription, and calls at the same time.
    fiveHourCalls: 600
    weeklyCalls: 5000
    concurrency: 4
    # Tokens in a period, and how long a period is.
    quotaTokens: 200000000
    periodDays: 30
    # What a period is sold for. It charges nothing, and is revenue in margins, spread over the days of the period.
    #priceYuan: "199"
    # How many calls may wait for their turn if as many as allowed are in flight, and for how long.
    #queue: { length: 0, wait: 30s }
    # The largest request, and the most output that one may ask for.
    inputByteLimit: 4MiB
    outputTokenLimit: 32000
`;
