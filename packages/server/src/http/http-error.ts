/** An answer that is not what was asked for. `code` stays the same from version to version; `message` is for people. */
export class HttpError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    // Whoever is refused is refused cheaply: a stack costs as much as all the rest of it, and tells nobody anything.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'HttpError'
    this.status = status
    this.code = code
  }
}
