import { catalogSettings } from './catalog-template.ts';

/**
 * The files that `faregate init` writes. A line with `#` but no space after it is a setting that can be uncommented as it is, as tests do.
 */

const HEAD = `# The configuration of Faregate.
#
#   faregate check     reports errors with line and key
#   faregate serve     starts the gateway
#
# A running gateway reloads this file when it changes, or on SIGHUP. Calls in flight keep the old settings. If the file
# is not valid, nothing changes and the log says why. Settings marked "restart" take effect at the next start.
#
# \${NAME} is replaced by the environment variable NAME, \${NAME:-default} by "default" if NAME is unset or empty.
# Inside { } and [ ], put such values in quotes. Durations: 500ms, 10s, 5m, 2h. Sizes: 500KB, 64MiB.

`;

const NODE = `server:
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
  # Opens streams of an operation whose provider is silent, for models without keepAlive: docs/routing.md.
  # keepAlive: { messages: { before: 30s } }

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

recording:
  # Whether records of calls have the client's address, its program (user agent), and the end user of the request.
  # Accounts can switch this on for their own calls.
  #clientAddress: false
  #program: false
  #endUser: false

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
  # Notifies the subscriber of a plan when these percentages of the period's tokens, the week's calls or the calls of
  # five hours are used.
  #planPercents: [80, 100]
  # Notifies owners, members and the owners of keys when these percentages of a budget or of the daily spend cap are
  # used.
  #budgetPercents: [80, 100]
  # Language of notices by mail and to messengers: en or zh.
  #language: en
  # Notifies operators when a route was down for this long.
  #routeDownAfter: 1m
  # Webhooks reach the public internet by https. These networks are allowed too, also by http: [10.1.0.0/16]
  #allowNetworks: []

# Mail server for notices, invitations and links. Without this section, no mail is sent.
# mail:
  # smtp: { host: smtp.example.com, port: 587, tls: starttls, user: gateway, password: "\${SMTP_PASSWORD}" }
  # # tls: starttls, implicit (from the first byte, port 465) or none (a server on this machine).
  # from: Gateway <gateway@example.com>

# What people see in place of the name and the logo of Faregate: docs/operations/branding.md.
# branding:
  # name: Acme Gateway
  # logo: ./logo.svg                    # PNG or SVG, at most 256 KiB
  # supportAddress: help@example.com    # or an https:// address

console:
  # Whether /pricing shows the listed models with their prices to everybody, without sign-in.
  #pricing: false

# Sends spans of calls to an OpenTelemetry collector by OTLP over HTTP: docs/tracing.md. Requires packages that are not
# installed by default, and loads them only if this section exists.
# tracing:                              # restart
  # endpoint: http://127.0.0.1:4318     # /v1/traces is appended
  # serviceName: faregate
  # headers: { authorization: "\${COLLECTOR_TOKEN}" }
  # Share of calls to trace if the client's traceparent does not decide.
  # sampleRatio: 1

`;

/** A configuration file with the catalog in it. */
export const configTemplate = `${HEAD}${NODE}# Providers, models, prices and plans are in this file. "faregate catalog use database" moves them to the database.
catalog: file                           # restart

${catalogSettings}`;

/** The configuration file of a node whose catalog is in the database, and the file `initialCatalog` with which the catalog begins. */
export function templates(initialCatalog: string): { readonly node: string; readonly catalog: string } {
  return {
    node: `${HEAD}${NODE}${catalogPlace(initialCatalog)}`,
    catalog: `${CATALOG_HEAD}# Durations: 500ms, 10s, 5m, 2h. Sizes: 500KB, 64MiB.\n\n${catalogSettings}`,
  };
}

/** Where a node finds its catalog. */
export function catalogPlace(initialCatalog: string): string {
  return `# Providers, models, prices and plans are in the database, the same for all nodes. At the first start they are those of
# the file below. Later changes of that file have no effect: use the console, or "faregate catalog push".
catalog: database                       # restart
initialCatalog: ${/^[\w.-]+$/.test(initialCatalog) ? initialCatalog : JSON.stringify(initialCatalog)}
`;
}

/** The head of a file that becomes the first revision of a catalog. */
export const CATALOG_HEAD = `# The providers, models, prices and plans with which Faregate starts for the first time. Later changes of this file have
# no effect. Change the catalog in the console, or as a text:
#
#   faregate catalog show > catalog.yaml
#   faregate catalog push catalog.yaml
#
# \${NAME} is an environment variable of the gateway, for credentials. Its name ends with _KEY, _TOKEN or _PROXY.
`;
