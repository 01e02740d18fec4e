/** Loaded before the client: as a module, it finds only the WebSocket of a page. */

export const PAGE_SOCKETS = { WebSocket }

Object.assign(globalThis, { window: PAGE_SOCKETS })
