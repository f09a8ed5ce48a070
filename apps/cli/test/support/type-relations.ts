// Calls that compile only where one type can be used as another. They are checked by the compiler, not when they run.

/** A value of `Ours` is one of `Theirs`. */
export const fits =
  <Theirs>() =>
  <Ours extends Theirs>(_value?: Ours) =>
    true
/** A value of `Theirs` is accepted where `Ours` is wanted. */
export const takes =
  <Ours>() =>
  <Theirs extends Ours>(_value?: Theirs) =>
    true
