export const ADMIN_PREFIX = '/admin/v1';
export const ACCOUNT_PREFIX = '/account/v1';
