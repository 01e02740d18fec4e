/** Loaded before the client, which in a module finds no sockets but those of a page. */

export const PAGE_SOCKETS = { WebSocket }

Object.assign(globalThis, { window: PAGE_SOCKETS })
