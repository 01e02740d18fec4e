/** Defines `window.WebSocket`, which the client reads when it is loaded. Import this module before the client. */

export const PAGE_SOCKETS = { WebSocket }

Object.assign(globalThis, { window: PAGE_SOCKETS })
