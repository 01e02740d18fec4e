/** Loaded before the client, which in a module finds no sockets but those of a page. */

Object.assign(globalThis, { window: { WebSocket } })
