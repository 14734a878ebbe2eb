import type { Logger } from '../../lib/logger.ts';
import type { BreakerTransition } from './health.ts';

/** A breaker of a single account is logged at info level, because the route itself might work. */
export function logBreakers(logger: Logger): (transition: BreakerTransition) => void {
  return ({ routeId, accountId, isOpen, reason }) => {
    const details = { route: routeId, ...(accountId !== null && { accountId }), ...(reason !== null && { reason }) };
    if (accountId !== null) logger.info(details, isOpen ? ACCOUNT_OPENED : ACCOUNT_CLOSED);
    else if (isOpen) logger.warn(details, ROUTE_OPENED);
    else logger.info(details, ROUTE_CLOSED);
  };
}

const ROUTE_OPENED = 'a route keeps failing: its breaker is open, and one probe at a time tests it';
const ROUTE_CLOSED = 'a route works again: its breaker is closed';
const ACCOUNT_OPENED = "a route's breaker is open for one account, whose calls keep failing there";
const ACCOUNT_CLOSED = "a route's breaker is closed again for an account";
