// TAPELENS_MEMBER(Tag, &Class::member_): after it, `object.*member(Tag{})` is a private member. The standard lets an
// explicit instantiation name a private member, so the compiler checks each one against the headers of each PyTorch
// version.
#pragma once

#define TAPELENS_MEMBER(Tag, ...)                        \
  struct Tag {                                           \
    friend constexpr auto member(Tag);                   \
  };                                                     \
  template <auto Member>                                 \
  struct Expose##Tag {                                   \
    friend constexpr auto member(Tag) { return Member; } \
  };                                                     \
  template struct Expose##Tag<__VA_ARGS__>
