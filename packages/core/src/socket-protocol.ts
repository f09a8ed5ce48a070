/** The WebSocket subprotocol that a page asks for. */
export const SOCKET_PROTOCOL = 'chirality'

/** Beside it, with the page's token behind it: a browser can set no header of a handshake, and the token says who it is. */
export const TOKEN_PROTOCOL = 'chirality.token.'

/** What a socket is closed with whose token is not, or no longer, one of the server's. */
export const SIGNED_OUT_CLOSE = 4401
