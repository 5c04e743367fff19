package fetch

// Weigh is weigh.
var Weigh = weigh
