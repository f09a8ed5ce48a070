/** A coded error is known by a mark and not by `instanceof`: a program of several bundles has several copies of the class. */
const MARK = /* @__PURE__ */ Symbol.for('chirality.CodedError')

/**
 * An expected failure. Callers go by `code`, which stays the same from version to version; `message` is for people and says
 * what to do. Each package has a union of its codes, and no two packages give one code two meanings.
 */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CodedError'
    this.code = code
    // Not enumerable: it is no part of what is printed or compared.
    Object.defineProperty(this, MARK, { value: true })
  }
}

export function isCodedError(error: unknown): error is CodedError {
  return error instanceof Error && MARK in error
}

/** Whether it is a coded error with one of these codes. */
export function hasCode<Code extends string>(error: unknown, ...codes: Code[]): error is CodedError<Code> {
  return isCodedError(error) && (codes as string[]).includes(error.code)
}
