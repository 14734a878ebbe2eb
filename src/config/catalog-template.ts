/** The sections of the catalog as `faregate init` writes them. A line with `#` and no space after it is a setting. */
export const catalogSettings = `billing:
  # Maximum daily spend of an account without a cap of its own. Default: no cap.
  dailySpendCapYuan: "500"
  # Time zone of the billing day.
  timezone: Asia/Shanghai
  # If a client disconnects during a stream: cancel it at the provider, or drain it to the end. Used tokens are charged
  # either way. A model can override this.
  #onClientAbort: cancel
  # Who issues statements and receipts: docs/operations/invoices.md.
  # seller: { name: Acme Models Ltd., taxNumber: "91110000Y", address: "1 Mill Road", logo: ./seller.svg }

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
    # Headers of clients that the provider gets, by their exact names.
    #forwardHeaders: []
    # Fields of requests that are changed for the provider, or for a route: docs/parameters.md
    # parameters: { remove: [logit_bias], max: { max_tokens: 8192 } }
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
    # Name of the model in responses: that of the provider, or the one that the client asked for.
    #showModel: provider
    # Overrides billing.onClientAbort.
    #onClientAbort: drain
    # Opens a stream whose provider is silent, and sends comments: docs/routing.md.
    #keepAlive: { before: 15s }
    # Further attempts although the first one might have run. The vendor might bill both; the account is charged once.
    #retry: { on: [500, 502, 503, timeout, silence], within: 1, firstByte: 20s }
    # Models that serve the call if no route of this one does.
    #fallbacks: [acme-small]
    #fallbackOn: [unavailable, context, filter]
    #fallbackCharge: served

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
