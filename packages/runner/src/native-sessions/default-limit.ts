/** As many as a person looks through. */
export const DEFAULT_LIMIT = 100
