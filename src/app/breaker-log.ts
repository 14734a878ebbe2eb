import type { Logger } from '../lib/logger.ts';
import type { BreakerTurn } from '../providers/routing/health.ts';

/** Logs each breaker that opens or closes. That of one account is no sign that the route is broken. */
export function logBreakers(logger: Logger): (turn: BreakerTurn) => void {
  return ({ routeId, accountId, isOpen, reason }) => {
    const details = { route: routeId, ...(accountId !== null && { accountId }), ...(reason !== null && { reason }) };
    if (accountId !== null) logger.info(details, isOpen ? ACCOUNT_OPENED : ACCOUNT_CLOSED);
    else if (isOpen) logger.warn(details, ROUTE_OPENED);
    else logger.info(details, ROUTE_CLOSED);
  };
}

const ROUTE_OPENED = 'a route keeps failing: it is left out, and tried again with one call at a time';
const ROUTE_CLOSED = 'a route works again: it takes calls as before';
const ACCOUNT_OPENED = 'a route is left out for one account, whose calls keep failing there';
const ACCOUNT_CLOSED = 'a route takes the calls of an account again';
