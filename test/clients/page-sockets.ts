/** Loaded before the client, which in a program looks for sockets by a name that modules do not have: those of a page. */

Object.assign(globalThis, { window: { WebSocket } })
