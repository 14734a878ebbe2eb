/** Path of the page for forgotten passwords. */
export const FORGOT_PATH = '/forgot-password';
