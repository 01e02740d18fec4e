/** How long the loser of a race waits before it tries again, so that writers who meet often do not meet for ever. */

/** Up to so many milliseconds, more with each loss. */
const DELAY = 4

/** Waits a little, by chance. @param losses how many races were lost in a row */
export const backOff = (losses: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * DELAY * Math.min(losses, 25)))
