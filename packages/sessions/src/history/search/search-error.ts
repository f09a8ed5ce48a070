/** A query that cannot be searched for. The message says what to do. */
export class SearchError extends Error {
  readonly code: 'empty' | 'too-long'

  constructor(code: SearchError['code'], message: string) {
    super(message)
    this.name = 'SearchError'
    this.code = code
  }
}
