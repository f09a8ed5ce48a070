import { HarnessError, type HarnessId } from '@chirality/core'

/** What the fields of a query have to be to stand in argv. Each check throws a HarnessError that names the field. */
export class FieldChecks {
  readonly #harnessId: HarnessId

  constructor(harnessId: HarnessId) {
    this.#harnessId = harnessId
  }

  /** A value that stands alone in argv: one that begins with a dash would be taken as a flag of its own. */
  word(field: string, value: string): string {
    if (value === '' || value.startsWith('-') || value.includes('\0')) {
      const said = JSON.stringify(value)
      throw this.invalid(`${field} is ${said}: it must not be empty, begin with "-" or hold a NUL.`)
    }
    return value
  }

  words(field: string, values: readonly string[] | undefined): string[] {
    return (values ?? []).map(value => this.word(field, value))
  }

  uuid(field: string, value: string): string {
    if (!UUID.test(value)) throw this.invalid(`${field} is ${JSON.stringify(value)}: it must be a UUID.`)
    return value
  }

  positiveInteger(field: string, value: number): number {
    if (!Number.isInteger(value) || value < 1)
      throw this.invalid(`${field} is ${value}: it must be a whole number above 0.`)
    return value
  }

  positive(field: string, value: number): number {
    if (!Number.isFinite(value) || value <= 0)
      throw this.invalid(`${field} is ${value}: it must be a number above 0.`)
    return value
  }

  invalid(message: string): HarnessError {
    return new HarnessError(message, 'invalid_query', this.#harnessId)
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
