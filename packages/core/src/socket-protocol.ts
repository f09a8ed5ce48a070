/** The WebSocket subprotocol that a page requests. */
export const SOCKET_PROTOCOL = 'chirality'

/** A second subprotocol, followed by the page's token: a browser cannot set headers of a handshake. */
export const TOKEN_PROTOCOL = 'chirality.token.'

/** The close code of a socket whose token the server does not know, or no longer. */
export const SIGNED_OUT_CLOSE = 4401
