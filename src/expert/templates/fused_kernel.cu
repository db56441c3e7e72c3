{{signature}}) {
  {{enter}}(gather);
  {{kernel}}_tile({{arguments}});
  finish_tile({{finish}});
}
